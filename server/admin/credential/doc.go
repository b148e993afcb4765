// Package credential keeps what a person shows to centers, out of their kubeconfig, and renews it.
// It is the exec credential plugin that `skerry space use` writes into a kubeconfig.
//
// A *Credential* is a client certificate with its key, or a token of a user of a space. A *Name*,
// CENTER/SPACE, says whose it is. A *Store* is the directory that keeps credentials, one file each,
// mode 0600, and the authorities of each center.
//
// The life of a credential:
//
//  1. `skerry space use` saves what a kubeconfig held. The user's own kubeconfig gets Plugin's entry.
//  2. kubectl, or any program with client-go, runs `skerry credential CENTER/SPACE`, and says in
//     KUBERNETES_EXEC_INFO at which center.
//  3. If the credential is older than a day, or than a third of its life, the center renews it: a
//     certificate at authn.RenewalPath, a token by a TokenRequest. One that ends later still counts
//     when that fails.
//  4. The answer, an ExecCredential, goes to standard output. Nothing else has the secret.
//
// Package signin keeps tokens of OIDC providers instead.
package credential
