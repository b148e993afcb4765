# The image holds one static binary and nothing else. By default it is compiled here:
#   docker build -t skerry .
# With SOURCE=prebuilt it is taken from BINARY (make image), which needs no base image.
ARG SOURCE=compiled
ARG BINARY=bin/skerry

FROM golang:1.26 AS compiled
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN make bin/skerry

FROM scratch AS prebuilt
ARG BINARY
COPY ${BINARY} /src/bin/skerry

FROM ${SOURCE} AS source

FROM scratch
ARG VERSION=unknown
ARG COMMIT=unknown
LABEL org.opencontainers.image.title="skerry" \
      org.opencontainers.image.description="Many Kubernetes clusters, one kube API" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://skerry.dev/skerry" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}"
COPY --from=source /src/bin/skerry /skerry
COPY --chown=65532:65532 packaging/image/data /var/lib/skerry
USER 65532:65532
EXPOSE 7443/tcp 7443/udp
VOLUME /var/lib/skerry
ENTRYPOINT ["/skerry"]
CMD ["center", "--listen", "0.0.0.0:7443"]
