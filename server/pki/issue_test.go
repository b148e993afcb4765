package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	mathrand "math/rand/v2"
	"net"
	"net/url"
	"testing"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/keyfile"
)

func request(t testing.TB, key any, template x509.CertificateRequest) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &template, key)
	if err != nil {
		t.Fatal(err)
	}
	return keyfile.EncodeRequest(der)
}

func newKey(t testing.TB, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestHonestAgentsAreSigned(t *testing.T) {
	p, _ := load(t)
	center := store.NewIncarnation()
	for range 200 {
		key := newKey(t, elliptic.P256())
		chain, err := p.SignAgent(
			request(t, key, x509.CertificateRequest{Subject: enroll.Subject("paris")}),
			"paris",
			center,
		)
		if err != nil {
			t.Fatal(err)
		}
		certs, err := keyfile.Certificates(chain)
		if err != nil {
			t.Fatal(err)
		}
		cert := certs[0]
		id, err := enroll.IdentityOf(cert)
		if err != nil || id.Target != "paris" || id.Key != enroll.Fingerprint(cert.RawSubjectPublicKeyInfo) ||
			!key.PublicKey.Equal(cert.PublicKey) ||
			cert.URIs[0].String() != AgentURI("paris", center).String() ||
			enroll.VerifyAgent(cert, p.AgentCAs()) != nil ||
			cert.IsCA {
			t.Fatalf("signed %+v: %v", id, err)
		}
	}
}

// info signs any CertificationRequestInfo, also those that no library makes.
func info(t testing.TB, key crypto.Signer, tbs []byte) []byte {
	t.Helper()
	sum := sha256.Sum256(tbs)
	signature, err := key.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	der, err := asn1.Marshal(struct {
		TBS       asn1.RawValue
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}{
		asn1.RawValue{FullBytes: tbs},
		pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}}, // ecdsa-with-SHA256
		asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return keyfile.EncodeRequest(der)
}

// forgeries are requests by a holder of a token for "paris" that are each wrong in one way.
func forgeries(t testing.TB, center store.Incarnation) map[string]func() []byte {
	key, other := newKey(t, elliptic.P256()), newKey(t, elliptic.P256())
	weak, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	spki, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	subject := enroll.Subject
	names := []string{
		"paris2",
		"pari",
		"paris-",
		"PARIS",
		"paris.eu",
		"paris/x",
		"",
		"root",
		"system:masters",
		"paris\x00",
		"paris,CN=x",
		"xparis",
		" paris",
		"paris ",
		"pаris",
	}
	pick := func() string { return names[mathrand.IntN(len(names))] }
	with := func(change func(*x509.CertificateRequest)) func() []byte {
		return func() []byte {
			template := x509.CertificateRequest{Subject: subject("paris")}
			change(&template)
			return request(t, key, template)
		}
	}
	extension := func(id asn1.ObjectIdentifier, value any) func() []byte {
		return with(func(r *x509.CertificateRequest) {
			der, err := asn1.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			r.ExtraExtensions = []pkix.Extension{{Id: id, Critical: mathrand.IntN(2) == 0, Value: der}}
		})
	}
	form := func(cn asn1.RawValue) func() []byte { // the right text in another form, or not quite
		return func() []byte {
			type attribute struct {
				Type  asn1.ObjectIdentifier
				Value asn1.RawValue
			}
			organization := asn1.RawValue{Tag: asn1.TagUTF8String, Bytes: []byte(enroll.Organization)}
			tbs, err := asn1.Marshal(struct {
				Version    int
				Subject    [][]attribute `asn1:"sequence"`
				Key        asn1.RawValue
				Attributes []asn1.RawValue `asn1:"tag:0"`
			}{
				0,
				[][]attribute{{{asn1.ObjectIdentifier{2, 5, 4, 10}, organization}}, {{asn1.ObjectIdentifier{2, 5, 4, 3}, cn}}},
				asn1.RawValue{FullBytes: spki},
				nil,
			})
			if err != nil {
				t.Fatal(err)
			}
			return info(t, key, tbs)
		}
	}
	return map[string]func() []byte{
		"another name": with(func(r *x509.CertificateRequest) { r.Subject = subject(pick()) }),
		"two names": with(func(r *x509.CertificateRequest) {
			r.Subject.ExtraNames = []pkix.AttributeTypeAndValue{
				{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: pick()},
				{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "paris"},
			}
		}),
		"more groups": with(func(r *x509.CertificateRequest) {
			r.Subject.Organization = append(r.Subject.Organization, "system:masters")
		}),
		"groups, reversed": with(func(r *x509.CertificateRequest) {
			r.Subject.Organization = []string{"system:masters", enroll.Organization}
		}),
		"another group": with(
			func(r *x509.CertificateRequest) { r.Subject.Organization = []string{"system:masters"} },
		),
		"no group":        with(func(r *x509.CertificateRequest) { r.Subject.Organization = nil }),
		"a unit":          with(func(r *x509.CertificateRequest) { r.Subject.OrganizationalUnit = []string{"x"} }),
		"a serial number": with(func(r *x509.CertificateRequest) { r.Subject.SerialNumber = "1" }),
		"a DNS name":      with(func(r *x509.CertificateRequest) { r.DNSNames = []string{"center"} }),
		"an address": with(
			func(r *x509.CertificateRequest) { r.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} },
		),
		"an e-mail address": with(func(r *x509.CertificateRequest) { r.EmailAddresses = []string{"a@b"} }),
		"its own URI":       with(func(r *x509.CertificateRequest) { r.URIs = []*url.URL{AgentURI("paris", center)} }),
		"another's URI":     with(func(r *x509.CertificateRequest) { r.URIs = []*url.URL{AgentURI("tokyo", center)} }),
		"to be an authority": extension(asn1.ObjectIdentifier{2, 5, 29, 19}, struct {
			IsCA bool
		}{true}),
		"to be a server": extension(
			asn1.ObjectIdentifier{2, 5, 29, 37},
			[]asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 1}},
		),
		"to sign certificates": extension(
			asn1.ObjectIdentifier{2, 5, 29, 15},
			asn1.BitString{Bytes: []byte{0x06}, BitLength: 7},
		),
		"an unknown extension": extension(asn1.ObjectIdentifier{1, 2, 3, 4}, "x"),
		"an RSA key":           func() []byte { return request(t, weak, x509.CertificateRequest{Subject: subject("paris")}) },
		"an Ed25519 key": func() []byte {
			return request(
				t,
				edwards,
				x509.CertificateRequest{Subject: subject("paris")},
			)
		},
		"a P-224 key": func() []byte {
			return request(t, newKey(t, elliptic.P224()), x509.CertificateRequest{Subject: subject("paris")})
		},
		"a P-384 key": func() []byte {
			return request(t, newKey(t, elliptic.P384()), x509.CertificateRequest{Subject: subject("paris")})
		},
		"an IA5 string":    form(asn1.RawValue{Tag: asn1.TagIA5String, Bytes: []byte("paris")}),
		"a teletex string": form(asn1.RawValue{Tag: asn1.TagT61String, Bytes: []byte("paris")}),
		"a wide string": form(
			asn1.RawValue{Tag: asn1.TagBMPString, Bytes: []byte("\x00p\x00a\x00r\x00i\x00s")},
		),
		"a string with an end":  form(asn1.RawValue{Tag: asn1.TagUTF8String, Bytes: []byte("paris\x00")}),
		"another version":       func() []byte { return otherVersion(t, key, spki) },
		"another key's request": func() []byte { return stolen(t, other, spki) },
		"damage": func() []byte { // a flipped bit breaks the proof of possession or the encoding
			block, _ := pem.Decode(request(t, key, x509.CertificateRequest{Subject: subject("paris")}))
			block.Bytes[mathrand.IntN(len(block.Bytes))] ^= 1 << mathrand.IntN(8)
			return pem.EncodeToMemory(block)
		},
		"cut": func() []byte {
			one := request(t, key, x509.CertificateRequest{Subject: subject("paris")})
			return one[:mathrand.IntN(len(one)-2)]
		},
		"two at once": func() []byte {
			one := request(t, key, x509.CertificateRequest{Subject: subject("paris")})
			return append(one, one...)
		},
		"oversized": func() []byte {
			return append(
				bytes.Repeat([]byte{'\n'}, keyfile.MaxRequestBytes),
				request(t, key, x509.CertificateRequest{Subject: subject("paris")})...)
		},
		"a certificate": func() []byte { return keyfile.EncodeCertificates(&x509.Certificate{Raw: []byte{0x30, 0}}) },
	}
}

func otherVersion(t testing.TB, key crypto.Signer, spki []byte) []byte {
	tbs, err := enroll.RequestInfo("paris", spki)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(tbs, []byte{2, 1, 0})
	tbs[at+2] = byte(1 + mathrand.IntN(100))
	return info(t, key, tbs)
}

// stolen asks for the key of somebody else, signed with one's own.
func stolen(t testing.TB, own crypto.Signer, spki []byte) []byte {
	tbs, err := enroll.RequestInfo("paris", spki)
	if err != nil {
		t.Fatal(err)
	}
	return info(t, own, tbs)
}

func TestForgedRequestsAreRefused(t *testing.T) {
	p, _ := load(t)
	center := store.NewIncarnation()
	ways := forgeries(t, center)
	for tried := 0; tried < 1000; {
		for name, forge := range ways {
			tried++
			if chain, err := p.SignAgent(forge(), "paris", center); !errors.Is(err, ErrRequest) {
				t.Fatalf("%s was signed: %s %v", name, chain, err)
			}
		}
	}
	// The tools that forge can also make a good one.
	key := newKey(t, elliptic.P256())
	spki, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.SignAgent(stolen(t, key, spki), "paris", center); err != nil {
		t.Errorf("the honest request, made by the same means: %v", err)
	}
}

// Whatever is signed is exactly the certificate of the name that was given and the key that proved
// itself.
func FuzzSignAgent(f *testing.F) {
	center := store.NewIncarnation()
	p, err := Load(Options{Dir: f.TempDir() + "/pki", New: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(request(f, newKey(f, elliptic.P256()), x509.CertificateRequest{Subject: enroll.Subject("paris")}), "paris")
	for _, forge := range forgeries(f, center) {
		f.Add(forge(), "paris")
	}
	f.Fuzz(func(t *testing.T, csr []byte, name string) {
		chain, err := p.SignAgent(csr, name, center)
		if err != nil {
			return
		}
		certs, err := keyfile.Certificates(chain)
		if err != nil {
			t.Fatal(err)
		}
		if id, err := enroll.IdentityOf(certs[0]); err != nil || id.Target != name || certs[0].IsCA {
			t.Errorf("signed %+v for %q: %v", id, name, err)
		}
	})
}
