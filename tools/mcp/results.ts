// Turns a server's answer into what the model reads: texts, images and documents. Other content is
// named.
import { z } from 'zod';
import { examineMedia } from '../../store/transcript/media.ts';
import type { ToolOutput } from '../tool.ts';

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

export function toToolOutput({ content = [], structuredContent, isError }: z.output<typeof callResult>): ToolOutput {
  const { texts, media } = splitParts(content.map(readBlock));
  const structured = structuredContent === undefined ? [] : renderStructured(structuredContent, texts);
  return { content: [...texts, ...structured].join('\n'), ...media, ...(isError === true && { isError }) };
}

export function toResourcesOutput(contents: readonly z.output<typeof resourceContents>[]): ToolOutput {
  const { texts, media } = splitParts(contents.map(readResourcePart));
  return { content: texts.join('\n'), ...media };
}

/** With a medium, `text` says where it comes from, if anything. */
type ResultPart = { readonly text: string; readonly medium?: Buffer };

function splitParts(parts: readonly ResultPart[]): {
  readonly texts: readonly string[];
  readonly media: Pick<ToolOutput, 'media'>;
} {
  const media = parts.flatMap(({ medium }) => medium ?? []);
  const texts = parts.flatMap(({ text, medium }) => (text === '' && medium ? [] : [text]));
  return { texts, media: media.length === 0 ? {} : { media } };
}

function readBlock(block: unknown): ResultPart {
  const read = blocks.safeParse(block);
  if (!read.success) return { text: '(content of a kind that is not known here)' };
  const { data } = read;
  switch (data.type) {
    case 'text':
      return { text: data.text };
    case 'resource':
      return readResourcePart(data.resource);
    case 'resource_link':
      return {
        text: `(a link to the resource ${data.uri}${data.description === undefined ? '' : `: ${data.description}`})`,
      };
    default:
      return readMedium(data.data, '', `(${data.type}, ${data.mimeType}`);
  }
}

function readResourcePart({ uri, mimeType, text, blob = '' }: z.output<typeof resourceContents>): ResultPart {
  const kind = mimeType === undefined ? '' : `, ${mimeType}`;
  if (text !== undefined) return { text: `(resource ${uri}${kind})\n${text}` };
  return readMedium(blob, `(resource ${uri}${kind})`, `(resource ${uri}${kind}`);
}

/**
 * Reads bytes as a medium. `otherwise` begins the sentence about bytes that are neither an image
 * nor a PDF; a server may say that they are.
 */
function readMedium(base64: string, text: string, otherwise: string): ResultPart {
  const bytes = Buffer.from(base64, 'base64');
  const found = examineMedia(bytes);
  if (found?.kind === 'medium') return { text, medium: bytes };
  const why = found ? `it ${found.problem}` : 'only texts, images and PDF documents reach the model here';
  return { text: `${otherwise}, ${bytes.length} bytes: ${why})` };
}

/**
 * Prints structured content that no text has yet. Servers are asked to send it as a text as well.
 * Where it must be an object, many wrap their value in one (`{"result":3}` for the text `3`), and
 * for a list send a text for each of its items.
 */
function renderStructured(value: unknown, texts: readonly string[]): readonly string[] {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const [named, ...others] = isObject ? Object.values(value) : [];
  const values = isObject && others.length === 0 ? [value, named] : [value];
  return values.some((one) => isSaid(one, texts)) ? [] : [JSON.stringify(value)];
}

function isSaid(value: unknown, texts: readonly string[]): boolean {
  const json = JSON.stringify(value);
  if (value === undefined) return false;
  if (texts.some((text) => isSameValue(text, value, json))) return true;
  if (!Array.isArray(value) || value.length === 0 || value.length !== texts.length) return false;
  return texts.every((text, at) => isSameValue(text, value[at]));
}

/** Compares a text with a value, also with blanks where JSON has none. */
function isSameValue(text: string, value: unknown, json = JSON.stringify(value)): boolean {
  return text === value || compactJson(text) === json;
}

function compactJson(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return undefined;
  }
}
