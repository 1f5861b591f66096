// perdure skills: lists the skills that runs in this folder may load, and files that cannot be
// skills with the reason.
import { realpathSync } from 'node:fs';
import type { Command } from 'commander';
import { findSkills, readSkillSettings } from '../../tools/builtin/files/skills.ts';
import { openDataFolder } from '../../connection/data-folder.ts';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { parseWorkspace } from '../run-options.ts';
import { CONFIG_OPTION, type ConfigFlags, workerConfig } from '../worker-config.ts';
import { rowsText } from '../../client/render/width.ts';

type Flags = ConfigFlags & { readonly cwd?: string };

export function skillsCommand(program: Command, cli: Cli): void {
  program
    .command('skills')
    .description('list the skills that runs in this folder may load')
    .option('--cwd <dir>', 'the workspace (default: the current folder)')
    .option(...CONFIG_OPTION)
    .action(async (flags: Flags) => cli.exit(await listSkills(cli, flags)));
}

async function listSkills(cli: Cli, { config: file, cwd = '.' }: Flags): Promise<number> {
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
