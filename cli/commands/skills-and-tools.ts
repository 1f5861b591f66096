// perdure skills and mcp-tools: list what runs in a folder may load, and what the MCP servers of a
// configuration offer, by the names that rules and lists of tools use.
import type { Command } from 'commander';
import type { PerdureConfig, ListedTool, ToolList, McpServers } from '../../client/faces/types.ts';
import { nameServerTool, findSkills, readSkillSettings } from '../../client/faces/tools.ts';
import { didYouMean, rowsText } from '../../client/faces/basics.ts';
import { oneLine } from '../../client/faces/start.ts';
import { jsonLine, reasonOf } from '../../system/text.ts';
import { openDataFolder } from '../../connection/data-folder.ts';
import type { Cli } from '../cli.ts';
import { STATUS, UsageError } from '../errors.ts';
import { CONFIG_OPTION, type ConfigFlags, workerConfig } from '../worker-config.ts';
import { realpathSync } from 'node:fs';
import { parseWorkspace } from '../run-options.ts';

type Flags = ConfigFlags & { readonly json?: boolean };

type Listed = {
  readonly server: string;
  readonly trusted: boolean;
  readonly list: Pick<ToolList, 'tools' | 'leftOut'>;
};
type ServerOffer = Listed | { readonly server: string; readonly why: string };

export function mcpToolsCommand(program: Command, cli: Cli): void {
  program
    .command('mcp-tools')
    .description('list the tools of the MCP servers, by the names that rules use')
    .argument('[server]', 'of this one only')
    .option('--json', 'print one JSON object per tool')
    .option(...CONFIG_OPTION)
    .action(async (server: string | undefined, flags: Flags) => cli.exit(await mcpTools(cli, server, flags)));
}

async function mcpTools(cli: Cli, only: string | undefined, { config: file, json }: Flags): Promise<number> {
  const { config } = await workerConfig(cli, file);
  const servers = chooseServers(config?.mcpServers ?? {}, only);
  if (Object.keys(servers).length === 0) {
    cli.say('no MCP servers: name them in the configuration ("mcpServers")');
    return STATUS.ok;
  }
  const found = await listOffers(cli, servers, config);
  for (const one of found) {
    if ('why' in one) cli.say(`the MCP server ${one.server} cannot be used: ${oneLine(one.why, 400)}`);
    else {
      cli.print(json === true ? jsonLines(one.server, one.list.tools) : toolTable(cli, one));
      for (const each of one.list.leftOut) cli.say(`left out of ${one.server}: ${oneLine(each, 400)}`);
    }
  }
  const { deferralOf } = await import('../../client/faces/checks.ts');
  const lists = found.flatMap((one) => ('list' in one ? [{ server: one.server, tools: one.list.tools }] : []));
  const deferral = config && only === undefined ? deferralOf(config, lists) : undefined;
  if (deferral !== undefined) cli.say(deferral);
  return found.some((one) => 'why' in one) ? STATUS.failed : STATUS.ok;
}

/** Throws UsageError for an unknown server. */
function chooseServers(servers: McpServers, only: string | undefined): McpServers {
  if (only === undefined) return servers;
  const server = Object.hasOwn(servers, only) ? servers[only] : undefined;
  if (server) return { [only]: server };
  const names = Object.keys(servers);
  const remedy = names.length > 0 ? didYouMean(only, names) : 'it names none';
  throw new UsageError(`the configuration names no MCP server ${JSON.stringify(only)}: ${remedy}`);
}

/** Asks all servers at once and returns their tools in the order of the configuration. */
async function listOffers(cli: Cli, servers: McpServers, config: PerdureConfig): Promise<readonly ServerOffer[]> {
  const { prepareServers, tryServer } = await import('../../client/faces/checks.ts');
  const around = await prepareServers(cli.env, openDataFolder(cli.env).root, config);
  const tried = Object.entries(servers).map(async ([server, settings]): Promise<ServerOffer> => {
    try {
      return { server, trusted: settings.trusted === true, list: await tryServer(settings, around) };
    } catch (error) {
      return { server, why: reasonOf(error) };
    }
  });
  try {
    return await Promise.all(tried);
  } finally {
    await around.network.close();
  }
}

function jsonLines(server: string, tools: readonly ListedTool[]): string {
  const lines = tools.map(({ name: tool, description, readOnly, destructive, idempotent }) =>
    jsonLine({ name: nameServerTool(server, tool), server, tool, readOnly, destructive, idempotent, description }),
  );
  return lines.map((line) => `${line}\n`).join('');
}

/** Puts the names in a column of their own, easy to copy into a rule. */
function toolTable({ out }: Cli, { server, trusted, list: { tools } }: Listed): string {
  const names = tools.map(({ name }) => nameServerTool(server, name));
  const width = Math.max(0, ...names.map(({ length }) => length));
  const count = `${tools.length} ${tools.length === 1 ? 'tool' : 'tools'}`;
  const rows = tools.map((tool, at) => {
    const about = `${hintOf(tool).padEnd(HINT)}  ${oneLine(tool.description, 200)}`;
    return `  ${(names[at] ?? '').padEnd(width)}  ${about}`.trimEnd();
  });
  const heading = `${server}: ${count}${trusted ? '' : '; not trusted, so that each asks unless a rule allows it'}`;
  return rowsText(out.columns(), [heading, ...rows].join('\n'));
}

const HINT = 'destructive'.length;

/** Says what the server claims about the tool. */
function hintOf({ readOnly, destructive }: ListedTool): string {
  if (readOnly) return 'read-only';
  if (destructive === null) return 'no hint';
  return destructive ? 'destructive' : 'adds only';
}

type SkillFlags = ConfigFlags & { readonly cwd?: string };

export function skillsCommand(program: Command, cli: Cli): void {
  program
    .command('skills')
    .description('list the skills that runs in this folder may load')
    .option('--cwd <dir>', 'the workspace (default: the current folder)')
    .option(...CONFIG_OPTION)
    .action(async (flags: SkillFlags) => cli.exit(await listSkills(cli, flags)));
}

async function listSkills(cli: Cli, { config: file, cwd = '.' }: SkillFlags): Promise<number> {
  const { config } = await workerConfig(cli, file);
  const settings = readSkillSettings(config);
  if (!settings) {
    cli.say(
      'no skills: name their folders in the configuration ("skills"), or allow those of workspaces ("workspaceSkills")',
    );
    return STATUS.ok;
  }
  const at = {
    cwd: realpathSync(parseWorkspace(cwd, cli.cwd())),
    hidden: openDataFolder(cli.env).root,
    mayRead: () => true,
  };
  const found = await findSkills(settings, at);
  for (const { name, description, file: path } of found.skills)
    cli.print(rowsText(cli.out.columns(), `${name}: ${description}\n  ${path}`));
  for (const { file: path, problem } of found.problems) cli.say(`${path} ${problem}`);
  if (found.skills.length === 0) cli.say('no skills');
  return STATUS.ok;
}
