// What a server answers, as the model reads it: texts, images and documents. Of anything else it is
// said what was there.
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

export function outputOf({ content = [], structuredContent, isError }: z.output<typeof callResult>): ToolOutput {
  const { texts, media } = partsOf(content.map(blockPart));
  const structured = structuredContent === undefined ? [] : structuredText(structuredContent, texts);
  return { content: [...texts, ...structured].join('\n'), ...media, ...(isError === true && { isError }) };
}

export function resourcesOutput(contents: readonly z.output<typeof resourceContents>[]): ToolOutput {
  const { texts, media } = partsOf(contents.map(resourcePart));
  return { content: texts.join('\n'), ...media };
}

/** Of a medium the text says where it comes from, if anything. */
type Part = { readonly text: string; readonly medium?: Buffer };

function partsOf(parts: readonly Part[]): {
  readonly texts: readonly string[];
  readonly media: Pick<ToolOutput, 'media'>;
} {
  const media = parts.flatMap(({ medium }) => medium ?? []);
  const texts = parts.flatMap(({ text, medium }) => (text === '' && medium ? [] : [text]));
  return { texts, media: media.length === 0 ? {} : { media } };
}

function blockPart(block: unknown): Part {
  const read = blocks.safeParse(block);
  if (!read.success) return { text: '(content of a kind that is not known here)' };
  const { data } = read;
  switch (data.type) {
    case 'text':
      return { text: data.text };
    case 'resource':
      return resourcePart(data.resource);
    case 'resource_link':
      return {
        text: `(a link to the resource ${data.uri}${data.description === undefined ? '' : `: ${data.description}`})`,
      };
    default:
      return mediumPart(data.data, '', `(${data.type}, ${data.mimeType}`);
  }
}

function resourcePart({ uri, mimeType, text, blob = '' }: z.output<typeof resourceContents>): Part {
  const kind = mimeType === undefined ? '' : `, ${mimeType}`;
  if (text !== undefined) return { text: `(resource ${uri}${kind})\n${text}` };
  return mediumPart(blob, `(resource ${uri}${kind})`, `(resource ${uri}${kind}`);
}

/**
 * `otherwise`: the beginning of what is said of bytes that are neither an image nor a PDF; a server
 * may say that they are.
 */
function mediumPart(base64: string, text: string, otherwise: string): Part {
  const bytes = Buffer.from(base64, 'base64');
  const found = examineMedia(bytes);
  if (found?.kind === 'medium') return { text, medium: bytes };
  const why = found ? `it ${found.problem}` : 'only texts, images and PDF documents reach the model here';
  return { text: `${otherwise}, ${bytes.length} bytes: ${why})` };
}

/**
 * Servers are asked to say it as a text as well. Where it must be an object, many give what they
 * say a name (`{"result":3}` beside `3`), and of a list a text for each of its items.
 */
function structuredText(value: unknown, texts: readonly string[]): readonly string[] {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const [named, ...others] = isObject ? Object.values(value) : [];
  const said = isObject && others.length === 0 ? [value, named] : [value];
  return said.some((one) => isSaid(one, texts)) ? [] : [JSON.stringify(value)];
}

function isSaid(value: unknown, texts: readonly string[]): boolean {
  const json = JSON.stringify(value);
  if (value === undefined) return false;
  if (texts.some((text) => says(text, value, json))) return true;
  if (!Array.isArray(value) || value.length === 0 || value.length !== texts.length) return false;
  return texts.every((text, at) => says(text, value[at]));
}

/** Also with blanks where JSON has none. */
function says(text: string, value: unknown, json = JSON.stringify(value)): boolean {
  return text === value || compact(text) === json;
}

function compact(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return undefined;
  }
}
