# A container with assay: `docker build -t assay .`; docs/how-to/container.md says how to run it.
FROM debian:13 AS build
RUN apt-get update -q && apt-get install -qy --no-install-recommends ca-certificates gcc make libc6-dev rustup
# The channel of rust-toolchain.toml: Debian's own rustc is older than `rust-version` of Cargo.toml.
RUN rustup toolchain install --profile minimal stable
WORKDIR /assay
COPY . .
RUN cargo build --release --locked --package assay

FROM debian:13-slim
# For servers from other sources than apt and tarballs, add maven, npm or python3-pip.
RUN apt-get update -q && apt-get install -qy --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 assay
COPY --from=build /assay/target/release/assay /usr/local/bin/
# Postgres refuses root, and containers seldom permit the user namespace in which assay would start it.
USER assay
WORKDIR /home/assay
ENTRYPOINT ["assay"]
