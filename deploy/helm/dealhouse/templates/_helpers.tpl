{{/* The name of everything. With that of a job behind it, it has at most 52 characters, which is what a CronJob may have. */}}
{{- define "dealhouse.name" -}}
{{- $name := .Release.Name -}}
{{- if not (contains "dealhouse" $name) }}{{ $name = printf "%s-dealhouse" $name }}{{ end -}}
{{- if gt (len $name) 31 }}{{ $name = printf "%s-%s" ($name | trunc 22 | trimSuffix "-") ($name | sha256sum | trunc 8) }}{{ end -}}
{{- $name -}}
{{- end }}

{{- define "dealhouse.selector" -}}
app.kubernetes.io/name: dealhouse
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "dealhouse.labels" -}}
{{ include "dealhouse.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* What the pods of the chart itself read from the Secret. That of the configuration is for dealhouse to check. */}}
{{- define "dealhouse.secretComplete" -}}
{{- range $key := list "warehouse-dsn" (eq .Values.mode "daemon" | ternary "status-user" "warehouse-dsn") }}
{{- if not (index $.Values.secret.data $key) }}{{ fail (printf "secret.data lacks %s: no pod could start without it" $key) }}{{ end }}
{{- end }}
{{- end }}

{{- define "dealhouse.secret" -}}
{{- if .Values.secret.existing }}{{ .Values.secret.existing }}{{ else if .Values.secret.data }}{{ include "dealhouse.name" . }}
{{- else }}{{ fail "name a Secret in secret.existing, or give the values in secret.data: warehouse-dsn, the keys of your accounts, status-user and status-password" }}{{ end -}}
{{- end }}

{{/* A change of either rolls the pods. The content of a Secret that is there is only known when Helm talks to the cluster. */}}
{{- define "dealhouse.checksums" -}}
checksum/config: {{ .Values.config | sha256sum }}
checksum/secret: {{ if .Values.secret.existing }}{{ dig "data" dict (lookup "v1" "Secret" .Release.Namespace .Values.secret.existing) | toJson | sha256sum }}{{ else }}{{ toJson .Values.secret.data | sha256sum }}{{ end }}
{{- end }}

{{/* The template of every pod. Of a dict: root, component, args, more (arguments behind them), dsn (the Secret that has it),
files (whether it has the configuration), job, probes. */}}
{{- define "dealhouse.pod" -}}
{{- $v := .root.Values -}}
metadata:
  labels:
    {{- include "dealhouse.selector" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  {{- if or .files $v.podAnnotations }}
  annotations:
    {{- if .files }}
    {{- include "dealhouse.checksums" .root | nindent 4 }}
    {{- end }}
    {{- with $v.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
spec:
  {{- if .job }}
  restartPolicy: Never
  {{- end }}
  {{- if .files }}
  serviceAccountName: {{ include "dealhouse.name" .root }}
  {{- end }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ $v.terminationGracePeriodSeconds }}
  {{- with $v.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $v.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $v.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $v.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    {{- with $v.runAs }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: dealhouse
      image: {{ if $v.image.digest }}{{ printf "%s@%s" $v.image.repository $v.image.digest | quote }}{{ else }}{{ printf "%s:%s" $v.image.repository ($v.image.tag | default .root.Chart.AppVersion) | quote }}{{ end }}
      imagePullPolicy: {{ $v.image.pullPolicy }}
      args: {{ concat .args (list "--log-format=json") (.more | default list) | toJson }}
      env:
        - name: DEALHOUSE_WAREHOUSE_DSN
          valueFrom:
            secretKeyRef:
              name: {{ .dsn }}
              key: warehouse-dsn
        {{- if .probes }}
        - name: DEALHOUSE_DAEMON_USER
          valueFrom:
            secretKeyRef:
              name: {{ .dsn }}
              key: status-user
        {{- end }}
        {{- if $v.proxy.secret }}
        - name: HTTPS_PROXY
          valueFrom:
            secretKeyRef:
              name: {{ $v.proxy.secret }}
              key: url
        - name: NO_PROXY
          value: {{ $v.proxy.noProxy | quote }}
        {{- end }}
        {{- with $v.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- if .probes }}
      ports:
        - name: http
          containerPort: 9464
      startupProbe:
        httpGet:
          path: /healthz
          port: http
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 180
      livenessProbe:
        httpGet:
          path: /healthz
          port: http
        periodSeconds: 30
        timeoutSeconds: 5
        failureThreshold: 4
      readinessProbe:
        httpGet:
          path: /readyz
          port: http
        periodSeconds: 15
        timeoutSeconds: 10
      {{- end }}
      resources:
        {{- toYaml $v.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        {{- if .files }}
        - name: config
          mountPath: /etc/dealhouse
          readOnly: true
        {{- end }}
        - name: keys
          mountPath: /run/secrets/dealhouse
          readOnly: true
  volumes:
    {{- if .files }}
    - name: config
      configMap:
        name: {{ include "dealhouse.name" .root }}
    {{- end }}
    - name: keys
      secret:
        secretName: {{ .dsn }}
        defaultMode: 0440
{{- end }}

{{/* The exit codes are part of the contract of dealhouse (README.md, "Commands"): 2, 3 and 4 need a person. */}}
{{- define "dealhouse.failures" -}}
podFailurePolicy:
  rules:
    - action: Ignore
      onPodConditions:
        - type: DisruptionTarget
          status: "True"
    - action: Ignore
      onExitCodes:
        containerName: dealhouse
        operator: In
        values: [130, 143]
    - action: FailJob
      onExitCodes:
        containerName: dealhouse
        operator: In
        values: [2, 3, 4]
{{- end }}
