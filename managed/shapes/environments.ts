// Bodies of requests about environments.
import { z } from 'zod';
import { metadata, metadataPatch } from './parse.ts';

const packages = z.array(z.string()).nullable().optional();

const config = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('cloud'),
    networking: z
      .discriminatedUnion('type', [
        z.strictObject({ type: z.literal('unrestricted') }),
        z.strictObject({
          type: z.literal('limited'),
          allow_mcp_servers: z.boolean().nullable().optional(),
          allow_package_managers: z.boolean().nullable().optional(),
          allowed_hosts: z.array(z.string()).nullable().optional(),
        }),
      ])
      .nullable()
      .optional(),
    packages: z
      .strictObject({
        type: z.literal('packages').optional(),
        apt: packages,
        cargo: packages,
        gem: packages,
        go: packages,
        npm: packages,
        pip: packages,
      })
      .nullable()
      .optional(),
  }),
  z.strictObject({ type: z.literal('self_hosted') }),
]);
export type EnvironmentConfig = z.output<typeof config>;

const name = z.string().min(1).max(256);
const description = z.string().max(2_048).nullable().optional();
const scope = z.enum(['organization', 'account']).nullable().optional();

export const environmentCreate = z.strictObject({
  name,
  config: config.nullable().optional(),
  description,
  metadata: metadata.optional(),
  scope,
});

export const environmentUpdate = z.strictObject({
  name: name.nullable().optional(),
  config: config.nullable().optional(),
  description,
  metadata: metadataPatch.optional(),
  scope,
});
