// Work of a tool that an activity or a workflow of its author does (L65). A mistake in its options
// is reported when the tool is defined: Temporal would refuse the workflow task of each call, again
// and again.
import { compileRetryPolicy } from '@temporalio/common';
import { msToNumber } from '@temporalio/common/lib/time.js';
import type { ActivityChoices, WorkflowChoices } from '../workflows/contract/delegation.ts';
import type { InputOf, InputSchema } from '../system/schema/input-schema.ts';
import { reasonOf } from '../system/text.ts';
import { present } from '../workflows/contract/present.ts';

/** `taskQueue`: absent, the session's own. `args`: absent, the input alone. */
export type DelegatedTo<Schema extends InputSchema, Choices> = {
  readonly taskQueue?: string;
  readonly options?: Choices;
  readonly args?: (input: InputOf<Schema>) => readonly unknown[];
};

export function buildWork<Schema extends InputSchema, Choices extends object>(
  { taskQueue, options, args }: DelegatedTo<Schema, Choices>,
  input: InputOf<Schema>,
) {
  return {
    ...present({ taskQueue }),
    args: args?.(input) ?? [input],
    options: options ?? ({} as Choices),
  };
}

/** Throws a sentence that describes what is wrong with an option. */
type Check = (value: unknown) => void;

const retryOptions: Readonly<Record<keyof NonNullable<ActivityChoices['retry']>, Check>> = {
  initialInterval: checkTime,
  maximumInterval: checkTime,
  backoffCoefficient: checkNumberFrom1,
  maximumAttempts: checkNumberFrom1,
  nonRetryableErrorTypes: (value) => {
    if (!Array.isArray(value) || value.some((type) => typeof type !== 'string'))
      throw new Error('give a list of texts');
  },
};
const activityOptions: Readonly<Record<keyof ActivityChoices, Check>> = {
  startToCloseTimeout: checkTime,
  scheduleToCloseTimeout: checkTime,
  scheduleToStartTimeout: checkTime,
  heartbeatTimeout: checkTime,
  retry: (value) => {
    checkAll('retry.', value, retryOptions);
    compileRetryPolicy(value as Parameters<typeof compileRetryPolicy>[0]);
  },
};
const workflowOptions: Readonly<Record<keyof WorkflowChoices, Check>> = {
  workflowRunTimeout: checkTime,
  workflowExecutionTimeout: checkTime,
};

const OPTIONS = { activity: activityOptions, workflow: workflowOptions } as const;

/** Checks the options. Throws TypeError, with the names of the tool and of the option. */
export function checkWorkOptions(tool: string, kind: keyof typeof OPTIONS, options: unknown): void {
  try {
    if (options !== undefined) checkAll('', options, OPTIONS[kind]);
  } catch (error) {
    throw new TypeError(`the tool ${JSON.stringify(tool)}: ${kind}.options: ${reasonOf(error)}`, { cause: error });
  }
}

function checkAll(prefix: string, fields: unknown, checks: Readonly<Record<string, Check>>): void {
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) throw new Error('give an object');
  for (const [name, value] of Object.entries(fields)) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (!check) throw new Error(`${prefix}${name} is none of ${Object.keys(checks).join(', ')}`);
    try {
      if (value !== undefined) check(value);
    } catch (error) {
      throw new Error(`${name} ${JSON.stringify(value)}: ${reasonOf(error)}`, { cause: error });
    }
  }
}

function checkTime(value: unknown): void {
  const right = 'give milliseconds, or a text such as "10 minutes", above 0';
  let ms = NaN;
  try {
    if (typeof value === 'number' || typeof value === 'string') ms = msToNumber(value);
  } catch {
    // Temporal reads no time in it.
  }
  if (!(ms > 0 && Number.isFinite(ms))) throw new Error(right);
}

function checkNumberFrom1(value: unknown): void {
  if (typeof value !== 'number' || !(value >= 1)) throw new Error('give a number, 1 or more');
}
