{{- define "twinlog.selector" -}}
app.kubernetes.io/name: twinlog
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "twinlog.labels" -}}
{{ include "twinlog.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "twinlog.scheme" -}}
{{ if .Values.http.tlsSecret }}https{{ else }}http{{ end }}
{{- end }}
