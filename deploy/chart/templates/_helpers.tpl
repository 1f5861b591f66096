{{- define "perdure.labels" -}}
app.kubernetes.io/name: perdure
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "perdure.selector" -}}
app.kubernetes.io/name: perdure
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "perdure.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "perdure.securityContext" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "perdure.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* What every process is told; workers get the model's key besides. */}}
{{- define "perdure.env" -}}
- { name: PERDURE_DATA, value: /var/lib/perdure/data }
- { name: TEMPORAL_ADDRESS, value: {{ required "temporal.address: host:port of the Temporal server" .Values.temporal.address | quote }} }
- { name: TEMPORAL_NAMESPACE, value: {{ .Values.temporal.namespace | quote }} }
{{- with .Values.temporal.apiKeySecret }}
- { name: TEMPORAL_API_KEY, valueFrom: { secretKeyRef: { name: {{ . | quote }}, key: api-key } } }
{{- end }}
{{- if .Values.temporal.tlsSecret }}
- { name: TEMPORAL_TLS_CLIENT_CERT_PATH, value: /etc/perdure/temporal/tls.crt }
- { name: TEMPORAL_TLS_CLIENT_KEY_PATH, value: /etc/perdure/temporal/tls.key }
{{- end }}
- { name: PERDURE_STORE, value: {{ required "store: s3://bucket/prefix" .Values.store | quote }} }
- { name: AWS_REGION, value: {{ .Values.s3.region | quote }} }
{{- with .Values.s3.endpoint }}
- { name: AWS_ENDPOINT_URL_S3, value: {{ . | quote }} }
{{- end }}
{{- with .Values.s3.credentialsSecret }}
- { name: AWS_ACCESS_KEY_ID, valueFrom: { secretKeyRef: { name: {{ . | quote }}, key: access-key-id } } }
- { name: AWS_SECRET_ACCESS_KEY, valueFrom: { secretKeyRef: { name: {{ . | quote }}, key: secret-access-key } } }
{{- end }}
{{- with .Values.live.secret }}
- { name: PERDURE_LIVE, valueFrom: { secretKeyRef: { name: {{ . | quote }}, key: url } } }
{{- end }}
- { name: PERDURE_CODEC_KEYS, value: /var/lib/perdure/data/secrets/payload-keys.json }
- { name: PERDURE_METRICS, value: '0.0.0.0:9464' }
{{- if .Values.config }}
- { name: PERDURE_CONFIG, value: /etc/perdure/config/perdure.config.mjs }
{{- end }}
{{- end }}

{{/*
Mounted secrets, and the root of a volume, belong to root and to a group. The data folder is one below,
which belongs to the user alone, and the secrets are copied into it.
*/}}
{{- define "perdure.initSecrets" -}}
- name: secrets
  image: {{ include "perdure.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  command: [node, /opt/perdure/secrets.mjs, copy, /mnt/secrets, /var/lib/perdure/data/secrets]
  securityContext: {{- include "perdure.containerSecurity" . | nindent 4 }}
  volumeMounts:
    - { name: mounted-secrets, mountPath: /mnt/secrets, readOnly: true }
    - { name: data, mountPath: /var/lib/perdure }
{{- end }}

{{- define "perdure.mounts" -}}
- { name: data, mountPath: /var/lib/perdure }
- { name: tmp, mountPath: /tmp }
- { name: home, mountPath: /home/perdure }
{{- if .Values.temporal.tlsSecret }}
- { name: temporal-tls, mountPath: /etc/perdure/temporal, readOnly: true }
{{- end }}
{{- if .Values.config }}
- { name: config, mountPath: /etc/perdure/config, readOnly: true }
{{- end }}
{{- end }}

{{- define "perdure.volumes" -}}
- name: mounted-secrets
  secret: { secretName: {{ required "secrets: a Secret with the keys of payloads, people and a certificate" .Values.secrets | quote }} }
- name: tmp
  emptyDir: {}
- name: home
  emptyDir: {}
{{- with .Values.temporal.tlsSecret }}
- name: temporal-tls
  secret: { secretName: {{ . | quote }} }
{{- end }}
{{- if .Values.config }}
- name: config
  configMap: { name: {{ .Release.Name }}-config }
{{- end }}
{{- end }}

{{/* A process that is not ready is not restarted: its runs wait or go on elsewhere. */}}
{{- define "perdure.probes" -}}
startupProbe:
  httpGet: { path: /healthz, port: metrics }
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /healthz, port: metrics }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: metrics }
  periodSeconds: 5
  timeoutSeconds: 5
{{- end }}
