# The image holds one static binary and nothing else. By default it is compiled here:
#   docker build -t skerry .
# With SOURCE=prebuilt it is taken from bin/skerry (make build), which needs no base image:
#   buildah bud --isolation chroot --build-arg SOURCE=prebuilt -t skerry .
ARG SOURCE=compiled

FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN make bin/skerry && install -d -o 65532 -g 65532 -m 0700 /out/var/lib/skerry && cp bin/skerry /out/skerry

FROM scratch AS compiled
COPY --from=build /out /

FROM scratch AS prebuilt
COPY bin/skerry /skerry

FROM ${SOURCE} AS final
USER 65532:65532
EXPOSE 7443/tcp 7443/udp
ENTRYPOINT ["/skerry"]
CMD ["center", "--listen", "0.0.0.0:7443"]
