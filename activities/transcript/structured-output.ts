// The JSON value in a final answer (L53): the whole text, or its one fenced block.

export type StructuredOutput =
  | { readonly kind: 'value'; readonly value: unknown }
  /** A sentence for the model: why there is none. */
  | { readonly kind: 'none'; readonly problem: string };

/** A line that may begin a block, and one that ends it. JSON has no line that begins with a backtick. */
const OPENS = /^[ \t]*```(?:json)?[ \t]*\r?$/i;
const CLOSES = /^[ \t]*```[ \t]*\r?$/;

export function structuredOutput(text: string): StructuredOutput {
  const whole = text.trim();
  if (whole === '') return none('it has no text');
  const plain = parsed(whole);
  if (plain.kind === 'value') return plain;
  const blocks = fencedBlocks(whole);
  const [block] = blocks;
  if (block === undefined) return plain;
  return blocks.length === 1 ? parsed(block) : none(`it has ${blocks.length} fenced blocks, and one is asked for`);
}

/** Line by line: an expression for the whole of it would look for the end of each block up to the end of the text. */
function fencedBlocks(text: string): string[] {
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
