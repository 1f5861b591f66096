// What a server answers, in the words that the model reads. A tool's output is a text here: of anything else it says what was there.
import { z } from 'zod';
import type { ToolOutput } from '../tools/tool.ts';

export const callResult = z.looseObject({
  content: z.array(z.unknown()).optional(),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
});

export const resourceContents = z.looseObject({
  uri: z.string(),
  mimeType: z.string().optional(),
  text: z.string().optional(),
  blob: z.string().optional(),
});

const blocks = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.enum(['image', 'audio']), data: z.string(), mimeType: z.string() }),
  z.looseObject({ type: z.literal('resource'), resource: resourceContents }),
  z.looseObject({
    type: z.literal('resource_link'),
    uri: z.string(),
    name: z.string().optional(),
    description: z.string().optional(),
  }),
]);

export function outputOf({ content = [], structuredContent, isError }: z.output<typeof callResult>): ToolOutput {
  const texts = content.map(blockText);
  const structured = structuredContent === undefined ? [] : structuredText(structuredContent, texts);
  const all = [...texts, ...structured].join('\n');
  return { content: all, ...(isError === true && { isError }) };
}

function blockText(block: unknown): string {
  const read = blocks.safeParse(block);
  if (!read.success) return '(content of a kind that is not known here)';
  const { data } = read;
  switch (data.type) {
    case 'text':
      return data.text;
    case 'resource':
      return resourceText(data.resource);
    case 'resource_link':
      return `(a link to the resource ${data.uri}${data.description === undefined ? '' : `: ${data.description}`})`;
    default:
      return `(${data.type}, ${data.mimeType}, ${bytesOf(data.data)} bytes: only texts reach the model here)`;
  }
}

export function resourceText({ uri, mimeType, text, blob }: z.output<typeof resourceContents>): string {
  const kind = mimeType === undefined ? '' : `, ${mimeType}`;
  if (text !== undefined) return `(resource ${uri}${kind})\n${text}`;
  return `(resource ${uri}${kind}, ${bytesOf(blob ?? '')} bytes: only texts reach the model here)`;
}

/** Servers are asked to say it as a text as well: as JSON, or where it is a text with a name, that text. */
function structuredText(value: unknown, texts: readonly string[]): readonly string[] {
  const json = JSON.stringify(value);
  const values: readonly unknown[] = typeof value === 'object' && value !== null ? Object.values(value) : [];
  const isSaid = (text: string): boolean => text === json || compact(text) === json;
  const isNamedText = values.length === 1 && texts.some((text) => text === values[0]);
  return isNamedText || texts.some(isSaid) ? [] : [json];
}

function compact(text: string): string | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function bytesOf(base64: string): number {
  return Buffer.byteLength(base64, 'base64');
}
