// Bodies and queries of requests about files and the resources of sessions.
import { z } from 'zod';
import { pageQuery } from './agents.ts';

const MOST_IDS = 100;
/** Files and memory stores of a session (G95). */
export const MOST_RESOURCES = 500;

const fileResource = z.strictObject({
  type: z.literal('file'),
  file_id: z.string().min(1).max(128),
  mount_path: z.string().min(1).max(4_096).nullable().optional(),
});
export type FileResource = z.output<typeof fileResource>;

const memoryStore = z.strictObject({
  type: z.literal('memory_store'),
  memory_store_id: z.string(),
  access: z.enum(['read_write', 'read_only']).nullable().optional(),
  instructions: z.string().max(4_096).nullable().optional(),
});

/** What is refused by name whatever it holds is loose here. */
const resource = z.discriminatedUnion('type', [
  fileResource,
  z.looseObject({ type: z.literal('github_repository') }),
  memoryStore,
]);
export type ResourceParams = z.output<typeof resource>;

export const resources = z.array(resource).max(MOST_RESOURCES);
export const resourceAdd = fileResource;
export const resourceUpdate = z.strictObject({ authorization_token: z.string() });

export const fileList = pageQuery.extend({
  ids: z.array(z.string()).max(MOST_IDS).optional(),
  scope_id: z.string().optional(),
});
