// Calls a tool and turns every way it can end into a value: an output, a failure the model can
// read, a stop (L33, L48).
import { StoreError } from '../../store/values/store.ts';
import { clip } from '../../system/text.ts';
import {
  FatalToolFailure,
  Superseded,
  ToolFailure,
  type AbortCause,
  type StartedCall,
  type Tool,
  type ToolContext,
  type ToolOutput,
  type Validated,
  type Verified,
} from '../../tools/tool.ts';

export type ToolRunEnd =
  | { readonly kind: 'output'; readonly output: ToolOutput }
  /** `fatal`: the run cannot go on (L34). */
  | { readonly kind: 'failed'; readonly text: string; readonly fatal?: boolean }
  /** The signal or the fence stopped it. `partial` is what the tool had to say until then. */
  | {
      readonly kind: 'stopped';
      readonly cause: AbortCause;
      readonly partial: string;
      readonly tool?: 'untouched' | 'hung';
    };

/** Milliseconds a tool gets to end after the signal; its processes are dead by then (L48). */
const STOP_GRACE_MS = 5_000;

const CAUSES: ReadonlySet<unknown> = new Set<AbortCause>(['interrupt', 'sibling', 'deploy', 'timeout', 'superseded']);

/** Reads why a signal was aborted; a reason that is no AbortCause counts as an interrupt. */
export function abortCause(signal: AbortSignal): AbortCause {
  return CAUSES.has(signal.reason) ? (signal.reason as AbortCause) : 'interrupt';
}

/**
 * Runs a tool's own check of its input, under the same guards. Undefined: the call may run as it
 * is.
 */
export async function validateInput(
  tool: Tool,
  input: unknown,
  context: ToolContext,
): Promise<{ readonly problem: string } | Validated | 'hung' | undefined> {
  if (tool.validate === undefined) return undefined;
  try {
    const answer = await awaitWithGrace(context.signal, Promise.resolve(tool.validate(input, context)));
    if (answer === undefined || answer === 'hung') return answer;
    return typeof answer.value === 'string' ? { problem: answer.value } : { input: asJson(answer.value.input) };
  } catch (error) {
    return { problem: describeFailure(tool, error).text };
  }
}

/**
 * Copies a value as JSON. A tool's own code may return anything; undefined, for a value that is no
 * JSON, fits no schema.
 */
export function asJson(input: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(input));
  } catch {
    return undefined;
  }
}

/**
 * Asks the tool's check whether a started call took effect (L40). A check that fails leaves that
 * unknown.
 */
export async function verifyCall(
  tool: Tool,
  input: unknown,
  context: ToolContext,
  started: StartedCall,
): Promise<Verified> {
  try {
    const verified = await awaitWithGrace(context.signal, Promise.resolve(tool.verify?.(input, context, started)));
    if (verified === 'hung' || verified === undefined) return { kind: 'unknown' };
    const { value } = verified;
    if (value.kind === 'done') return typeof value.output?.content === 'string' ? value : { kind: 'unknown' };
    return value.kind === 'not_done' ? value : { kind: 'unknown', ...pickText(value) };
  } catch (error) {
    return { kind: 'unknown', text: `Its check failed: ${describeFailure(tool, error).text}` };
  }
}

function pickText({ text }: Extract<Verified, { kind: 'unknown' }>): { readonly text?: string } {
  return typeof text === 'string' ? { text } : {};
}

/** Calls the tool. Throws only StoreError: then the attempt has failed, not the call. */
export async function callTool(tool: Tool, input: unknown, context: ToolContext): Promise<ToolRunEnd> {
  const { signal } = context;
  let called = false;
  try {
    await context.fence();
    called = true;
    const returned = await awaitWithGrace(signal, Promise.resolve(tool.call(input, context)));
    if (returned === 'hung') {
      const partial = `${tool.name} did not end when it was told to.`;
      return { kind: 'stopped', cause: abortCause(signal), partial, tool: 'hung' };
    }
    const output = returned?.value;
    if (typeof output?.content !== 'string') {
      return { kind: 'failed', text: `${tool.name} failed: it returned no text (a defect of the tool).` };
    }
    if (output.stopped === true) return { kind: 'stopped', cause: abortCause(signal), partial: output.content };
    return { kind: 'output', output };
  } catch (error) {
    if (error instanceof Superseded) {
      return { kind: 'stopped', cause: 'superseded', partial: '', ...(called ? {} : { tool: 'untouched' }) };
    }
    const failed = describeFailure(tool, error);
    if (!signal.aborted) return failed;
    return { kind: 'stopped', cause: abortCause(signal), partial: error instanceof ToolFailure ? failed.text : '' };
  }
}

/** Runs other code of a tool under the same guards. */
export async function guardTool<Value>(
  tool: Tool,
  signal: AbortSignal,
  run: () => Promise<Value>,
): Promise<{ readonly kind: 'value'; readonly value: Value } | Exclude<ToolRunEnd, { kind: 'output' }>> {
  try {
    const returned = await awaitWithGrace(signal, run());
    if (returned === 'hung') return { kind: 'stopped', cause: abortCause(signal), partial: '', tool: 'hung' };
    if (returned === undefined)
      return { kind: 'failed', text: `${tool.name} returned nothing (a defect of the tool).` };
    return { kind: 'value', value: returned.value };
  } catch (error) {
    return describeFailure(tool, error);
  }
}

/**
 * Turns an error of a tool into a failed outcome; the error of a store that failed under it is
 * thrown on.
 */
function describeFailure(tool: Tool, error: unknown): Extract<ToolRunEnd, { kind: 'failed' }> {
  if (error instanceof StoreError) throw error;
  if (error instanceof FatalToolFailure) return { kind: 'failed', text: clip(error.message), fatal: true };
  if (error instanceof ToolFailure) return { kind: 'failed', text: error.message };
  return { kind: 'failed', text: `${tool.name} failed: ${String(error)} (a defect of the tool).` };
}

/**
 * Waits for a promise, after an abort only for the grace period. Undefined when it resolves to
 * undefined.
 */
async function awaitWithGrace<Value>(
  signal: AbortSignal,
  ending: Promise<Value | undefined>,
): Promise<{ readonly value: Value } | 'hung' | undefined> {
  let timer: NodeJS.Timeout | undefined;
  let stop: (() => void) | undefined;
  const hung = new Promise<'hung'>((resolve) => {
    stop = () => (timer = setTimeout(() => resolve('hung'), STOP_GRACE_MS));
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    const settled = ending.then((value) => (value === undefined ? undefined : { value }));
    return await Promise.race([settled, hung]);
  } finally {
    clearTimeout(timer);
    if (stop !== undefined) signal.removeEventListener('abort', stop);
  }
}
