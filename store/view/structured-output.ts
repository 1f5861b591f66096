// Reads the JSON value in a final answer (L53): the whole text, or its one fenced block.
import type { ConfigReader } from '../configuration.ts';
import type { Entry } from '../log/entries.ts';
import { isDamage } from '../values/store.ts';
import type { RunResult } from './result.ts';

type StructuredOutput =
  | { readonly kind: 'value'; readonly value: unknown }
  /** `problem` is a sentence for the model. */
  | { readonly kind: 'none'; readonly problem: string };

/**
 * A line that may begin a block, and one that ends it. JSON has no line that begins with a
 * backtick.
 */
const OPENS = /^[ \t]*```(?:json)?[ \t]*\r?$/i;
const CLOSES = /^[ \t]*```[ \t]*\r?$/;

export function parseStructuredOutput(text: string): StructuredOutput {
  const whole = text.trim();
  if (whole === '') return noOutput('it has no text');
  const plain = parseValue(whole);
  if (plain.kind === 'value') return plain;
  const blocks = listFencedBlocks(whole);
  const [block] = blocks;
  if (block === undefined) return plain;
  return blocks.length === 1
    ? parseValue(block)
    : noOutput(`it has ${blocks.length} fenced blocks, and one is asked for`);
}

/**
 * Finds blocks line by line: an expression for the whole text would look for the end of each block
 * up to the end of the text.
 */
function listFencedBlocks(text: string): string[] {
  const blocks: string[] = [];
  let open: string[] | null = null;
  for (const line of text.split('\n')) {
    if (open === null) {
      if (OPENS.test(line)) open = [];
    } else if (CLOSES.test(line)) {
      blocks.push(open.join('\n'));
      open = null;
    } else {
      open.push(line);
    }
  }
  return blocks;
}

function parseValue(json: string): StructuredOutput {
  try {
    return { kind: 'value', value: JSON.parse(json) as unknown };
  } catch (error) {
    if (error instanceof SyntaxError) return noOutput(`it is not one JSON value: ${error.message}`);
    throw error;
  }
}

function noOutput(problem: string): StructuredOutput {
  return { kind: 'none', problem };
}

export type RunOutput = { readonly output?: unknown };

/**
 * Returns the final answer's value; nothing when the run had no schema or did not complete, and
 * when its configuration is damaged: the result stands without it.
 */
export async function outputOf(
  config: ConfigReader,
  entries: readonly Entry[],
  { run, reason, text }: RunResult,
): Promise<RunOutput> {
  const started = entries.findLast((entry) => entry.kind === 'run_started' && entry.run === run);
  if (started?.kind !== 'run_started' || reason !== 'completed') return {};
  try {
    const { outputSchema } = await config(started.config);
    const found = outputSchema ? parseStructuredOutput(text) : null;
    return found?.kind === 'value' ? { output: found.value } : {};
  } catch (error) {
    if (isDamage(error)) return {};
    throw error;
  }
}
