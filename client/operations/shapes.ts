// Shapes that the bodies of several operations have.
import { z } from 'zod';
import { IMAGE_TYPES } from '../../workflows/contract/people.ts';
import { type OptionKind, RUN_OPTIONS } from '../../workflows/contract/run-options.ts';
import type { Prompt } from '../sessions/prompt.ts';

export const text = z.string();
export const count = z.int().nonnegative();
export const list = z.array(text).readonly();
export const nothing = z.strictObject({});
export const sent = z.looseObject({ session: text, messageId: text });

const image = z.strictObject({ type: z.literal('base64'), media_type: z.enum(IMAGE_TYPES), data: text });
const document = z.strictObject({ type: z.literal('base64'), media_type: z.literal('application/pdf'), data: text });
const textDocument = z.strictObject({
  type: z.literal('document'),
  source: z.strictObject({ type: z.literal('text'), media_type: z.literal('text/plain'), data: text }),
  title: text.optional(),
  context: text.optional(),
});
export const prompt: z.ZodType<Prompt> = z.union([
  text,
  z
    .array(
      z.union([
        z.strictObject({ type: z.literal('text'), text }),
        z.strictObject({ type: z.literal('image'), source: image }),
        z.strictObject({ type: z.literal('document'), source: document }),
        textDocument,
      ]),
    )
    .readonly(),
]);

const serverTool = z.looseObject({ enabled: z.boolean(), policy: z.enum(['always_allow', 'always_ask', 'auto']) });

/** The client checks the bounds of all options, so their fields have types only. */
const shapesOfKinds: Readonly<Record<OptionKind, z.ZodType>> = {
  choice: text,
  folder: text,
  folders: list,
  list,
  mounts: z.array(z.looseObject({ path: text, access: z.enum(['read_only', 'read_write']) })),
  names: list,
  number: z.number(),
  pairs: z.record(text, text),
  roster: z.array(
    z.looseObject({ name: text, description: text, model: text, tools: list, permissions: z.looseObject({}) }),
  ),
  rules: z.strictObject({ allow: list.optional(), deny: list.optional(), ask: list.optional() }),
  schema: z.record(text, z.unknown()),
  servers: z.array(z.looseObject({ name: text, url: text, config: serverTool, tools: z.record(text, serverTool) })),
  switch: z.boolean(),
  text,
  time: z.number(),
  tools: z.array(z.looseObject({ by: text, name: text, description: text, input_schema: z.record(text, z.unknown()) })),
};
const optionFields = Object.entries(RUN_OPTIONS).map(([name, { kind, says, values }]): [string, z.ZodType] => {
  const value = values ? z.enum(values) : shapesOfKinds[kind];
  const more = { folder: '; an absolute path on the machine that works', time: ', in milliseconds' };
  const about = `${says}${kind === 'folder' || kind === 'time' ? more[kind] : ''}`;
  // The workspace alone cannot be taken back.
  return [name, (name === 'cwd' ? value.optional() : value.nullish()).describe(about)];
});

/** The client refuses unknown names and suggests the one that was meant. */
export const optionsShape = z
  .looseObject(Object.fromEntries(optionFields))
  .describe('options of a run, as docs/client.md lists them; null takes one back');

export const forkedFrom = z.looseObject({
  session: text,
  position: count.describe('the first entry of that session that this one does not have'),
});
export const changedFile = z.looseObject({
  root: text.describe('the folder of the session in which it lies'),
  path: text,
  kind: z.enum(['added', 'changed', 'deleted']),
  insertions: count.nullable().describe('lines; null: it is not text'),
  deletions: count.nullable(),
});
