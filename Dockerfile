# Heddle: docker build -t heddle .
# It is meant to be started with the options of docker-compose.yml, without which bubblewrap cannot work.
# By its content, so that the same clone always starts from the same image.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20

# The program as the npm package has it: a bundle, which needs no packages beside it.
FROM ${NODE_IMAGE} AS build
# What the image is made from is in no folder of it: the bill of materials is made here.
ARG BUILDKIT_SBOM_SCAN_STAGE=true
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY scripts/package scripts/package
COPY src src
RUN node scripts/package/build.ts dist

FROM ${NODE_IMAGE}
# bubblewrap makes the sandboxes, socat their way to listed hosts; git and python3 are for the
# skills and the agent, poppler-utils reads PDFs; PACKAGES are what your own skills need (docs/operations.md); tini collects the processes that ended sandboxes leave behind.
ARG PACKAGES=
RUN apt-get update \
  && apt-get install --yes --no-install-recommends bubblewrap ca-certificates git poppler-utils python3 socat tini ${PACKAGES} \
  && rm -rf /var/lib/apt/lists/* \
  && printf '#!/bin/sh\nexec node /app/dist/heddle.js "$@"\n' >/usr/local/bin/heddle \
  && chmod 0755 /usr/local/bin/heddle \
  && mkdir /config \
  && install --directory --owner=node --group=node /data
COPY package.json LICENSE /app/
COPY skills /app/skills
COPY --from=build /build/dist /app/dist

# Root is refused where it would matter: nothing here needs a capability.
USER node
# heddle.yaml and mcp.json are looked for here.
WORKDIR /config
# The folder of the program cannot be written: Node keeps what it has compiled with the data.
ENV NODE_ENV=production HEDDLE_DATA_DIR=/data NODE_COMPILE_CACHE=/data/compile
VOLUME /data
EXPOSE 8420
HEALTHCHECK --interval=30s --timeout=15s --start-period=30s CMD ["heddle", "health"]
ENTRYPOINT ["tini", "--", "heddle"]
CMD ["start"]
