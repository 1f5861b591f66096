// Temporal's runtime, once per process.
import { DefaultLogger, Runtime } from '@temporalio/worker';

/** The SDK warns of every worker that takes one kind of task only. Ours do so on purpose. */
const ON_PURPOSE = /^No (workflows|activities) registered, not polling/;

/** Once per process, before anything of Temporal's: signals stay with us, and warnings go where `warn` says. */
export function installRuntime(warn: (message: string) => void): void {
  Runtime.install({
    shutdownSignals: [],
    logger: new DefaultLogger('WARN', ({ level, message, meta }) => {
      if (ON_PURPOSE.test(message)) return;
      const about = typeof meta?.workflowId === 'string' ? ` (session ${meta.workflowId})` : '';
      const error = meta?.error instanceof Error ? `: ${meta.error.message}` : '';
      warn(`${level.toLowerCase()}: ${message}${about}${error}`);
    }),
  });
}
