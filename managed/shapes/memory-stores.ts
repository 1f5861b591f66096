// Bodies and queries of requests about memory stores (G67).
import { z } from 'zod';
import { pageQuery } from './agents.ts';
import { displayName as name, metadata, metadataPatch, moment, wholeNumber } from './parse.ts';

const description = z.string().max(1_024);

export const memoryStoreCreate = z.strictObject({
  name,
  description: description.optional(),
  metadata: metadata.optional(),
});

export const memoryStoreUpdate = z.strictObject({
  name: name.nullable().optional(),
  description: description.nullable().optional(),
  metadata: metadataPatch.nullable().optional(),
});

const view = z.enum(['basic', 'full']).optional();
export const viewQuery = z.strictObject({ view });

export const memoryCreate = z.strictObject({ content: z.string().nullable(), path: z.string() });

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'give 64 lowercase hexadecimal characters');

export const memoryUpdate = z.strictObject({
  content: z.string().nullable().optional(),
  path: z.string().nullable().optional(),
  precondition: z.strictObject({ type: z.literal('content_sha256'), content_sha256: sha256.optional() }).optional(),
});

export const memoryDelete = z.strictObject({ expected_content_sha256: sha256.optional() });

export const memoryList = pageQuery.extend({
  depth: wholeNumber(0, 20).optional(),
  path_prefix: z
    .string()
    .regex(/^\/.*\/$|^\/$/su, 'a prefix begins and ends with "/"')
    .optional(),
  view,
});

export const memoryVersionList = pageQuery.extend({
  api_key_id: z.string().optional(),
  'created_at[gte]': moment.optional(),
  'created_at[lte]': moment.optional(),
  memory_id: z.string().optional(),
  operation: z.enum(['created', 'modified', 'deleted']).optional(),
  service_account_id: z.string().optional(),
  session_id: z.string().optional(),
  view,
});
