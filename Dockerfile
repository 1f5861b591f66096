# One image for every process of a cluster: `serve`, `worker` and `doctor` are its commands. The
# first stage builds and packs the package; the second has what it needs at work, and no compiler.
# docs/deploying.md says how it is started.
ARG NODE=docker.io/library/node:22-bookworm-slim

FROM ${NODE} AS package
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm pack --silent --pack-destination /tmp
# The versions of the lock file, which a plain install of the tarball would not look at.
WORKDIR /opt/perdure
RUN cp /src/package-lock.json . && node /src/deploy/image/write-manifest.mjs /src/package.json /tmp/perdure-*.tgz > package.json \
  && npm install --omit=dev --ignore-scripts --no-audit --no-fund \
  && rm -f package-lock.json

FROM ${NODE}
# What commands of agents are run with (git, ripgrep, bubblewrap), and what ends orphans (tini).
RUN apt-get update -qq \
  && apt-get install -y -qq --no-install-recommends bubblewrap ca-certificates git openssl ripgrep tini \
  && rm -rf /var/lib/apt/lists/* \
  && rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn* /opt/yarn*
RUN groupadd --gid 10001 perdure \
  && useradd --uid 10001 --gid 10001 --create-home --shell /bin/bash perdure \
  && install -d -o perdure -g perdure -m 700 /var/lib/perdure /workspaces
COPY --from=package /opt/perdure /opt/perdure
COPY deploy/image/health.mjs deploy/image/secrets.mjs /opt/perdure/
RUN ln -s /opt/perdure/node_modules/perdure/bin/perdure.mjs /usr/local/bin/perdure
USER 10001:10001
WORKDIR /workspaces
ENV NODE_ENV=production PERDURE_DATA=/var/lib/perdure PERDURE_METRICS=0.0.0.0:9464
VOLUME ["/var/lib/perdure", "/workspaces"]
# `serve` listens on 8443, every command answers metrics and health on 9464.
EXPOSE 8443 9464
STOPSIGNAL SIGTERM
# A process that is not ready must not be restarted: its runs wait or go on elsewhere.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=6 CMD ["node", "/opt/perdure/health.mjs"]
ENTRYPOINT ["/usr/bin/tini", "--", "perdure"]
CMD ["worker"]
