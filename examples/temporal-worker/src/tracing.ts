// The tracing that was here before. The spans go to a file, a JSON line each, where yours go to a
// collector.
import { appendFileSync } from 'node:fs';
import { Resource } from '@opentelemetry/resources';
import { SimpleSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { OpenTelemetryPlugin } from '@temporalio/interceptors-opentelemetry';

export function tracing(service: string, file: string): OpenTelemetryPlugin {
  const resource = new Resource({ 'service.name': service });
  const spanProcessor = new SimpleSpanProcessor(toFile(file));
  new NodeTracerProvider({ resource, spanProcessors: [spanProcessor] }).register();
  return new OpenTelemetryPlugin({ resource, spanProcessor });
}

function toFile(file: string): SpanExporter {
  return {
    export: (spans, done) => {
      for (const span of spans) {
        const { traceId } = span.spanContext();
        appendFileSync(file, `${JSON.stringify({ name: span.name, traceId })}\n`);
      }
      done({ code: 0 });
    },
    shutdown: async () => undefined,
  };
}
