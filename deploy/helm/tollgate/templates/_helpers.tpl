{{- define "tollgate.name" -}}
{{- if contains "tollgate" .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-tollgate" .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "tollgate.selector" -}}
app.kubernetes.io/name: tollgate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "tollgate.labels" -}}
{{ include "tollgate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* Settings that follow from the other values; `settings` wins over them. */}}
{{- define "tollgate.settings" -}}
{{- $name := include "tollgate.name" . -}}
{{- $found := dict -}}
{{- if .Values.ingress.enabled -}}
{{- if ne .Values.ingress.path "/" -}}
{{- $_ := set $found "TOLLGATE_ROOT_PATH" .Values.ingress.path -}}
{{- end -}}
{{- if .Values.ingress.tlsSecretName -}}
{{- $_ := set $found "TOLLGATE_SECURE_COOKIE" "true" -}}
{{- end -}}
{{- if .Values.ingress.trustedProxies -}}
{{- $_ := set $found "TOLLGATE_SERVING__TRUSTED_PROXIES" .Values.ingress.trustedProxies -}}
{{- end -}}
{{- end -}}
{{- $found = mergeOverwrite $found .Values.settings -}}
{{- $hosts := list $name (printf "%s.%s" $name .Release.Namespace) (printf "%s.%s.svc" $name .Release.Namespace) -}}
{{- if .Values.ingress.enabled -}}
{{- $hosts = append $hosts .Values.ingress.host -}}
{{- end -}}
{{- $_ := set $found "TOLLGATE_ALLOWED_HOSTS" (concat $hosts .Values.hosts | join ",") -}}
{{- $_ := set $found "TOLLGATE_HOST" "0.0.0.0" -}}
{{- $_ := set $found "TOLLGATE_PORT" "8420" -}}
{{- $_ := set $found "TOLLGATE_DATA_DIR" "/data/tollgate" -}}
{{- range $key := keys $found | sortAlpha }}
- name: {{ $key }}
  value: {{ get $found $key | quote }}
{{- end -}}
{{- end -}}

{{/* A probe asks as a program on the same machine: other names than allowed ones are refused. */}}
{{- define "tollgate.probe" -}}
httpGet:
  path: /api/v1/{{ . }}
  port: http
  httpHeaders:
    - name: Host
      value: localhost
timeoutSeconds: 5
{{- end -}}
