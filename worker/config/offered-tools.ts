// The schemas of what the API is told about tools: its own searches of the web, and the names under
// which the model knows tools.
import { z } from 'zod';
import { VALID_NAME } from '../../tools/registry.ts';
import type { FieldNames, WebSearchSettings } from '../../store/configuration.ts';
import { wholeNumberSchema } from './schema-parts.ts';

const domainRight =
  'give a host without scheme or port, perhaps with the beginning of a path, such as example.com or example.com/docs';
const domain = z
  .string(domainRight)
  .regex(/^[a-z\d-]+(\.[a-z\d-]+)+(\/[^\s?#]*)?$/i, domainRight)
  .max(253, domainRight);
const place = z.string().min(1).max(100).optional();

/** The API takes one of the two lists alone. */
export const webSearchSchema = z
  .union(
    [
      z.boolean(),
      z.strictObject({
        maxUses: wholeNumberSchema(100).optional(),
        allowedDomains: z.array(domain).min(1).max(100).optional(),
        blockedDomains: z.array(domain).min(1).max(100).optional(),
        userLocation: z.strictObject({ city: place, region: place, country: place, timezone: place }).optional(),
      } satisfies Readonly<Record<keyof WebSearchSettings, unknown>>),
    ],
    'give true, false or { maxUses, allowedDomains or blockedDomains, userLocation }',
  )
  .refine(
    (value) => typeof value === 'boolean' || !value.allowedDomains || !value.blockedDomains,
    'give "allowedDomains" or "blockedDomains", not both',
  );

const nameRight = 'give 1 to 64 letters, digits, "_" or "-"';
export const toolNameSchema = z.string(nameRight).regex(VALID_NAME, nameRight);
const fieldName = z.string().min(1).max(64);
const fieldNames: z.ZodType<FieldNames> = z.lazy(() =>
  z.record(
    fieldName,
    z.union([
      fieldName,
      z.strictObject({
        name: fieldName,
        also: z.array(fieldName).exactOptional(),
        fields: fieldNames.exactOptional(),
        values: z.record(z.string(), z.string()).exactOptional(),
        ignored: z.array(z.string()).exactOptional(),
      }),
    ]),
  ),
);

export const toolNamesSchema = z
  .record(
    toolNameSchema,
    z.strictObject({
      name: toolNameSchema,
      also: z.array(toolNameSchema).max(20).optional(),
      fields: fieldNames.optional(),
      ignored: z.array(fieldName).optional(),
      questions: fieldName.optional(),
    }),
  )
  .refine(haveOwnNames, 'two tools have the same name: give each its own');

function haveOwnNames(
  names: Readonly<Record<string, { readonly name: string; readonly also?: readonly string[] | undefined }>>,
) {
  const all = Object.values(names).flatMap(({ name, also = [] }) => [name, ...also]);
  return new Set(all).size === all.length;
}
