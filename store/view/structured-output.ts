// Reads the JSON value in a final answer (L53): the whole text, or its one fenced block.

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
