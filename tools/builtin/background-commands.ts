// The tools that reach commands in the background (L84): their output and their end.
import { z } from 'zod';
import {
  type BackgroundCommands,
  type BackgroundRecord,
  openBackgroundFolder,
} from '../../system/process/background-files.ts';
import { defineTool, ToolFailure, type Tool, type ToolContext } from '../tool.ts';
import type { BuiltinOptions } from './files/options.ts';
import { describeCommand, describeCommandEnd, decodeOutput } from './shell/background-words.ts';
import { killTree } from '../../system/process/kill-tree.ts';
import { awaitEnd, GRACE_MS } from './shell/background.ts';

const commandId = z
  .string()
  .regex(/^bg-[0-9a-f]{8}$/, 'give the id that bash gave')
  .describe('The id that bash gave');

export function createBashOutputTool({ background }: BuiltinOptions): Tool {
  return defineTool({
    name: 'bash_output',
    description:
      'What a command in the background has written: its end, or what came since a position. It waits for nothing.',
    inputSchema: z.strictObject({
      id: commandId,
      since: z.int().min(0).optional().describe('A position in bytes, as the answer before gave it'),
    }),
    risk: 'read',
    recovery: 'rerun',
    subject: () => null,
    call: async (input, context) => {
      const { commands, session } = requireBackground(background, context);
      const found = commands.output(session, input.id, input.since);
      if (found === null) throw unknownCommand(input.id);
      const { from, to, total, kept: oldest, bytes } = found.part;
      const output = decodeOutput(bytes);
      const dropped = input.since !== undefined && input.since < oldest ? `, those before ${oldest} are not kept` : '';
      const more = to < total ? `${total - to} more are there; ` : '';
      const place = `(bytes ${from} to ${to} of ${total}${dropped}; ${more}next: since ${to})`;
      return {
        content: [`${describeState(found.record)}.`, output.replace(/\n$/, ''), place]
          .filter((part) => part !== '')
          .join('\n'),
      };
    },
  });
}

export function createBashStopTool({ background }: BuiltinOptions): Tool {
  return defineTool({
    name: 'bash_stop',
    description: 'Ends a command in the background with all its processes.',
    inputSchema: z.strictObject({ id: commandId }),
    // It takes back what was allowed, and nothing else.
    risk: 'read',
    safe: () => false,
    recovery: 'rerun',
    subject: () => null,
    call: async (input, context) => {
      const { commands, session } = requireBackground(background, context);
      const record = await commands.stop(session, input.id);
      if (record === null) throw unknownCommand(input.id);
      if (!record.end)
        throw new ToolFailure(`${describeCommand(record)} was told to end, and has not said that it did.`);
      return { content: `${describeState(record)}.` };
    },
  });
}

function requireBackground(commands: BackgroundCommands | undefined, { session }: ToolContext) {
  if (commands && session !== undefined) return { commands, session };
  throw new ToolFailure('No command goes on in the background here.');
}

function unknownCommand(wanted: string): ToolFailure {
  return new ToolFailure(
    `There is no command ${wanted} of this session here. One that ran on another machine, or long ago, is gone: start it again if it is needed.`,
  );
}

function describeState(record: BackgroundRecord): string {
  if (record.end) return `${describeCommand(record)} ${describeCommandEnd(record.end)}`;
  return `${describeCommand(record)} is running, for ${Math.round((Date.now() - record.startedAt) / 1_000)} s`;
}

/**
 * Ends a command for a person: its worker writes down how it ended, and the model is told. Returns
 * null for one that is not known on this machine.
 */
export async function endCommand(root: string, session: string, id: string): Promise<BackgroundRecord | null> {
  const files = openBackgroundFolder(root, session);
  const record = files.read(id);
  if (record === null || record.end) return record;
  await killTree({ callId: record.mark, leader: record.leader }, { graceMs: GRACE_MS });
  return await awaitEnd(files, id, record);
}
