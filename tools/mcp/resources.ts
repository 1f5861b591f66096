// Lists and reads resources of MCP servers by one tool, which runs are offered while a server has
// some (L77).
import { z } from 'zod';
import { clip, onOneLine } from '../../system/text.ts';
import { RESOURCES } from '../listed.ts';
import { defineTool, type Tool, type ToolContext, ToolFailure, type ToolOutput } from '../tool.ts';
import type { CallClock } from './call-clock.ts';
import type { KeptServer } from './keep-server.ts';
import { FOR_EVER, type RequestOptions } from './link.ts';
import { resourceContents, toResourcesOutput } from './results.ts';
import { askServer } from './server-tools.ts';

const MOST_SHOWN = 200;
const LONGEST_LINE = 300;

const listedResource = z.looseObject({
  uri: z.string().optional(),
  uriTemplate: z.string().optional(),
  name: z.string().optional(),
  mimeType: z.string().optional(),
  description: z.string().optional(),
});

const resourcePage = z.looseObject({ resources: z.array(listedResource), nextCursor: z.string().optional() });
const templatePage = z.looseObject({ resourceTemplates: z.array(listedResource) });
const readResult = z.looseObject({ contents: z.array(resourceContents) });

const inputSchema = z.strictObject({
  server: z.string().describe('The server’s name'),
  uri: z.string().optional().describe('The resource to read. Absent: the resources are listed'),
  cursor: z.string().optional().describe('Of a list: goes on where the one before ended'),
});

/**
 * Makes the tool. `servers` are all of them: one that has not been connected yet may have
 * resources.
 */
export function createResourcesTool(servers: readonly KeptServer[]): Tool {
  const names = servers.filter(({ hasResources }) => hasResources).map(({ name }) => name);
  const find = (name: string): KeptServer => {
    const server = servers.find((one) => one.name === name);
    if (server && (server.hasResources || server.tools === null)) return server;
    throw new ToolFailure(`No MCP server ${JSON.stringify(name.slice(0, 80))} has resources: ${names.join(', ')} may.`);
  };
  return defineTool({
    name: RESOURCES,
    description: `Lists the resources of an MCP server, or reads one of them by its URI. Servers with resources: ${names.join(', ')}.`,
    inputSchema,
    risk: ({ server }) =>
      servers.some(({ name, settings }) => name === server && settings.trusted) ? 'read' : 'external',
    recovery: 'report',
    subject: ({ server }) => ({ kind: 'name', name: server }),
    call: async ({ server, uri, cursor }, context) =>
      uri === undefined
        ? await listResources(find(server), context, cursor)
        : await readResource(find(server), context, uri),
  });
}

async function readResource(server: KeptServer, context: ToolContext, uri: string): Promise<ToolOutput> {
  const { signal, session = '' } = context;
  const { contents } = await askServer(server, context, (link, clock) =>
    link.request('resources/read', { uri }, readResult, howToAsk(signal, clock, session)),
  );
  return toResourcesOutput(contents);
}

async function listResources(server: KeptServer, context: ToolContext, cursor?: string): Promise<ToolOutput> {
  const { signal, session = '' } = context;
  const from = cursor === undefined ? {} : { cursor };
  return await askServer(server, context, async (link, clock) => {
    const how = howToAsk(signal, clock, session);
    const { resources, nextCursor } = await link.request('resources/list', from, resourcePage, how);
    // A server need not have templates.
    const templates = cursor === undefined ? link.request('resources/templates/list', {}, templatePage, how) : null;
    const { resourceTemplates = [] } = (await templates?.catch(() => null)) ?? {};
    const all = [...resources, ...resourceTemplates];
    const more =
      nextCursor === undefined ? [] : [`(there are more: call it again with the cursor ${JSON.stringify(nextCursor)})`];
    const cut = all.length > MOST_SHOWN ? [`(and ${all.length - MOST_SHOWN} more of this page)`] : [];
    const lines = [...all.slice(0, MOST_SHOWN).map(writeResourceLine), ...cut, ...more];
    return { content: lines.length === 0 ? '(no resources)' : lines.join('\n') };
  });
}

function howToAsk(signal: AbortSignal, clock: CallClock, session: string): RequestOptions {
  return { signal: AbortSignal.any([signal, clock.signal]), timeout: FOR_EVER, asker: { session } };
}

function writeResourceLine({ uri, uriTemplate, name, mimeType, description }: z.output<typeof listedResource>): string {
  const about = [name, mimeType, description].filter((part) => part !== undefined && part !== '').join(', ');
  const what = uri ?? `${uriTemplate ?? ''} (a template)`;
  return clip(onOneLine(`${what}${about === '' ? '' : `: ${about}`}`), LONGEST_LINE);
}
