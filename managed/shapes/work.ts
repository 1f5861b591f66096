// Queries and bodies of requests about work items.
import { z } from 'zod';
import { pageQuery } from './agents.ts';
import { metadataPatch, wholeNumber } from './parse.ts';

export const workPoll = z.strictObject({
  block_ms: wholeNumber(1, 999).optional(),
  reclaim_older_than_ms: wholeNumber(1_000, 600_000).optional(),
});

export const workHeartbeat = z.strictObject({
  desired_ttl_seconds: wholeNumber(1, 999_999).optional(),
  expected_last_heartbeat: z.string().max(100).optional(),
});

export const workStop = z.strictObject({ force: z.boolean().optional() });

export const workUpdate = z.strictObject({ metadata: metadataPatch });

export const workList = pageQuery;

export const keyCreate = z.strictObject({ only: z.boolean().optional() });

export const fence = z.strictObject({ call: z.string().max(100), run: z.string().max(100).optional() });

export const fenced = z.strictObject({ tools: z.array(z.string().max(200)).max(1_000) });
