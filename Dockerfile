# The command line and the server on a CPU, without torch: `docker compose up` (compose.yaml), or
#   docker build -t viewfinder . && docker run -v viewfinder:/data -v ~/Pictures:/pictures:ro viewfinder add /pictures
FROM python:3.11-slim AS wheel
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /dist .

FROM python:3.11-slim
# For Kubernetes (docs/cluster.md): --build-arg EXTRAS=heic,postgresql,ray,scale
ARG EXTRAS=heic,postgresql,scale
RUN --mount=type=bind,from=wheel,source=/dist,target=/dist \
    pip install --no-cache-dir "$(echo /dist/*.whl)[$EXTRAS]"
RUN useradd --create-home --uid 10001 viewfinder && install --directory --owner viewfinder /data
USER viewfinder
ENV VIEWFINDER_LIBRARY=/data/library VIEWFINDER_HOST=0.0.0.0 VIEWFINDER_PORT=8008
VOLUME /data
EXPOSE 8008
HEALTHCHECK --start-period=30s --timeout=5s CMD \
    ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8008/api/v1/health/ready', timeout=4)"]
ENTRYPOINT ["viewfinder"]
CMD ["serve", "--create"]
