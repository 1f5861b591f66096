// perdure doctor: prints what is found, what is missing, and what to do about it. It starts only
// MCP servers, and ends those.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Check } from '../../client/face-types.ts';
import type { Cli } from '../cli.ts';
import { type ConfigFlags, CONFIG_OPTION } from '../worker-config.ts';
import { STATUS } from '../errors.ts';

export function doctorCommand(program: Command, cli: Cli): void {
  program
    .command('doctor')
    .description('check this machine: what is found, what is missing, what to do')
    .option(...CONFIG_OPTION)
    .action(async ({ config }: ConfigFlags) => {
      const { runChecks } = await import('../../client/runtime/doctor.ts');
      const checks = await runChecks(cli.env, config === undefined ? undefined : resolve(cli.cwd(), config));
      const width = Math.max(...checks.map(({ name }) => name.length));
      cli.print(checks.map((check) => `${checkLine(cli, check, width)}\n`).join(''));
      cli.exit(checks.every(({ state }) => state !== 'missing') ? STATUS.ok : STATUS.failed);
    });
}

function checkLine({ out }: Cli, { name, state, found }: Check, width: number): string {
  const mark = { ok: out.green('ok     '), note: out.yellow('note   '), missing: out.red('missing') }[state];
  return `${mark}  ${name.padEnd(width)}  ${found}`;
}
