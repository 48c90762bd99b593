# Lean by default: fronts other model servers. Stored tokens and usage records work (Node 22 has SQLite).
#   docker build -t lintel .
# With the optional packages: models on this machine, OTLP, images in S3.
#   docker build --build-arg ENGINES=1 -t lintel .
#
# HOST and PORT say where it listens, whatever the configuration says. Run it with one:
#   docker run -p 8080:8080 -v ./lintel.yaml:/app/lintel.yaml:ro lintel

FROM node:22-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# With optional packages: the bundler's binary is one.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY scripts scripts
COPY src src
COPY gen gen
RUN node scripts/build.js --force

FROM node:22-slim AS dependencies
ARG ENGINES=
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# ONNX Runtime's package has the binaries of every system, 290 MB.
RUN npm ci --omit=dev $([ -n "$ENGINES" ] || echo --omit=optional) --ignore-scripts \
  && npm cache clean --force \
  && rm -rf node_modules/onnxruntime-node/bin/napi-v6/darwin node_modules/onnxruntime-node/bin/napi-v6/win32

FROM node:22-slim
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=8080 \
    XDG_STATE_HOME=/var/lib
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json LICENSE lintel.schema.json ./
COPY proto proto
COPY models models
RUN install -d -o node -g node /var/lib/lintel
# The image's user node, by its number: by the name Kubernetes can't tell that it is not root (runAsNonRoot).
USER 1000:1000
VOLUME /var/lib/lintel
EXPOSE 8080
# Where TLS is spoken, maybe to clients with a certificate alone, the answer in cleartext is a 400 that says so.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "require('http').get(`http://127.0.0.1:${process.env.PORT}/healthz`, ({ statusCode }) => process.exit([200, 400].includes(statusCode) ? 0 : 1)).on('error', () => process.exit(1))"]
# Node is process 1 here: Lintel handles SIGTERM itself.
CMD ["node", "dist/src/main.js", "serve"]
