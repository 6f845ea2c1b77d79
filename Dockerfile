ARG PYTHON_IMAGE=python:3.12-slim
ARG NODE_IMAGE=node:24-slim

# The pages of the browser. Nothing but the finished files leaves this stage.
FROM ${NODE_IMAGE} AS web
RUN apt-get update --quiet=2 \
 && apt-get install --yes --quiet=2 --no-install-recommends python3 \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY web web
RUN python3 web/webbuild.py

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src
COPY requirements/build.txt requirements/runtime.txt requirements/
# The environment that runs has no pip: the build environment fills it, with wheels only.
RUN python -m venv /opt/build \
 && /opt/build/bin/pip install --only-binary=:all: --no-deps --require-hashes -r requirements/build.txt \
 && python -m venv --without-pip /opt/tollgate \
 && /opt/build/bin/pip --python /opt/tollgate/bin/python install --only-binary=:all: --no-deps --require-hashes -r requirements/runtime.txt
# Where plugins find packages that a derived image or a mount adds; what the service has itself wins.
RUN mkdir -p /opt/tollgate/packages/site-packages \
 && echo /opt/tollgate/packages/site-packages > "$(echo /opt/tollgate/lib/python3*/site-packages)/packages.pth"
COPY pyproject.toml README.md LICENSE ./
COPY app app
COPY alembic alembic
# Sources and pages belong together: the wheel takes pages that fit its sources as they are.
COPY web web
COPY --from=web /src/app/web/dist app/web/dist
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
 && /opt/build/bin/pip --python /opt/tollgate/bin/python install --no-deps --no-index /wheels/*.whl

FROM ${PYTHON_IMAGE}
# What agents find in the image: git for the shell, and for `screenshot` a browser with letters for
# Chinese, which is half of the image. More or less of it by --build-arg.
ARG PACKAGES="git chromium-headless-shell fonts-droid-fallback"
RUN apt-get update --quiet=2 \
 && apt-get install --yes --quiet=2 --no-install-recommends ${PACKAGES} \
 && apt-get clean \
 && rm -rf /var/lib/apt/lists/*
RUN python -m pip uninstall --yes --quiet pip \
 && groupadd --gid 10001 tollgate \
 && useradd --uid 10001 --gid 10001 --home-dir /data --no-create-home --shell /usr/sbin/nologin tollgate \
 && install --directory --owner=10001 --group=10001 --mode=0700 /data
COPY --from=build /opt/tollgate /opt/tollgate
# HOME also for a user of another number, who has no line in /etc/passwd.
ENV PATH=/opt/tollgate/bin:/usr/local/bin:/usr/bin:/bin HOME=/data PYTHONUNBUFFERED=1 TOLLGATE_HOST=0.0.0.0 TOLLGATE_PORT=8420 TOLLGATE_DATA_DIR=/data
WORKDIR /data
USER 10001:10001
VOLUME ["/data"]
EXPOSE 8420
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen('http://127.0.0.1:' + os.environ['TOLLGATE_PORT'] + '/api/v1/health', timeout=4)"]
ENTRYPOINT ["tollgate"]
CMD ["serve"]
