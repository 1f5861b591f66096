// What is thrown while a reply is taken or written, and is no failure of the model or the store, is a defect of ours. What the reply
// holds set it off: the attempt counts, with what it was billed, or it would be paid for again without end (L14, L51).
import { queryName } from '../query-name.ts';
import { brief, type Verdict } from './classify.ts';
import type { ModelStep } from './store-reply.ts';

/** Said in the worker's log with where it was thrown, and to whoever reads why the call failed. */
export function defect(
  { deps, config, input }: Pick<ModelStep, 'deps' | 'config' | 'input'>,
  error: unknown,
): Extract<Verdict, { kind: 'retry' }> {
  const detail = brief(
    `a reply could not be taken: ${String(error)} (a defect of Perdure: please report it)`,
    deps.redact,
  );
  const where = error instanceof Error ? `\n${error.stack ?? ''}` : '';
  deps.warn(`${queryName(config)}, iteration ${input.iteration}: ${detail}${where}`);
  return { kind: 'retry', detail };
}
