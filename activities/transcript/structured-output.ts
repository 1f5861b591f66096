// The JSON value in a final answer (L53): the whole text, or its one fenced block.

export type StructuredOutput =
  | { readonly kind: 'value'; readonly value: unknown }
  /** A sentence for the model: why there is none. */
  | { readonly kind: 'none'; readonly problem: string };

/** A line of three backticks, with or without `json`, to the next such line. JSON has no line that begins with one. */
const FENCED = /^[ \t]*```(?:json)?[ \t]*\r?\n([^]*?)^[ \t]*```[ \t]*$/gim;

export function structuredOutput(text: string): StructuredOutput {
  const whole = text.trim();
  if (whole === '') return none('it has no text');
  const plain = parsed(whole);
  if (plain.kind === 'value') return plain;
  const blocks = [...whole.matchAll(FENCED)].map(([, inside = '']) => inside);
  const [block] = blocks;
  if (block === undefined) return plain;
  return blocks.length === 1 ? parsed(block) : none(`it has ${blocks.length} fenced blocks, and one is asked for`);
}

function parsed(json: string): StructuredOutput {
  try {
    return { kind: 'value', value: JSON.parse(json) as unknown };
  } catch (error) {
    if (error instanceof SyntaxError) return none(`it is not one JSON value: ${error.message}`);
    throw error;
  }
}

function none(problem: string): StructuredOutput {
  return { kind: 'none', problem };
}
