// perdure setup registers the search attributes that lists and the page filter by on the server's
// namespace (O1). perdure doctor reports what is found, what is missing, and what to do about it;
// it starts only MCP servers, and ends those. perdure completions completes commands in a shell.
import { type Command, Argument } from 'commander';
import type { AttributeCheck, AttributesFound, AttributeState, Check } from '../../client/faces/types.ts';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { withServer } from '../with-server.ts';
import { resolve } from 'node:path';
import { type ConfigFlags, CONFIG_OPTION } from '../worker-config.ts';
import { completionScript, type Shell, SHELLS } from '../help/completions.ts';

export function setupCommand(program: Command, cli: Cli): void {
  program
    .command('setup')
    .description('register the search attributes on the Temporal namespace, and say what is missing')
    .action(async () => {
      cli.exit(await registerAttributes(cli));
    });
}

async function registerAttributes(cli: Cli): Promise<number> {
  const { ensureAttributes } = await import('../../client/faces/checks.ts');
  return withServer(cli, async ({ temporal: { connection, client } }) => {
    const { namespace } = client.options;
    const found = await ensureAttributes(connection, namespace);
    cli.print(found.checks.map((check) => `${attributeLine(cli, check)}\n`).join(''));
    if (found.usable) return STATUS.ok;
    for (const text of remedyLines(found, namespace)) cli.say(text);
    return STATUS.failed;
  });
}

function attributeLine({ out }: Cli, { name, type, state }: AttributeCheck): string {
  const words: Readonly<Record<AttributeState, string>> = {
    there: out.green('there  '),
    added: out.green('added  '),
    missing: out.red('missing'),
    other_type: out.red('taken  '),
  };
  return `${words[state]}  ${name.padEnd(20)}  ${flagType(type)}`;
}

/** Spells a type as Temporal's command line does: KeywordList for KEYWORD_LIST. */
function flagType(type: AttributeCheck['type']): string {
  return type
    .split('_')
    .map((word) => `${word[0]}${word.slice(1).toLowerCase()}`)
    .join('');
}

function remedyLines({ checks, why }: AttributesFound, namespace: string): readonly string[] {
  const conflicting = checks.filter(({ state }) => state === 'other_type').map(({ name }) => name);
  const missing = checks.filter(({ state }) => state === 'missing');
  const flags = missing.map(({ name, type }) => `--name ${name} --type ${flagType(type)}`).join(' ');
  return [
    ...(why === undefined ? [] : [`the server did not take them: ${why}`]),
    ...(conflicting.length === 0
      ? []
      : [`these exist with another type: ${conflicting.join(', ')}; rename or remove them first`]),
    ...(missing.length === 0
      ? []
      : [`someone who may can add them: temporal operator search-attribute create -n ${namespace} ${flags}`]),
    ...(why !== undefined && missing.length === 0 ? ['a cluster takes up to a minute: run it again then'] : []),
    'until then everything works from memos: lists read every session',
  ];
}

export function doctorCommand(program: Command, cli: Cli): void {
  program
    .command('doctor')
    .description('check this machine: what is found, what is missing, what to do')
    .option(...CONFIG_OPTION)
    .action(async ({ config }: ConfigFlags) => {
      const { runChecks } = await import('../../client/faces/checks.ts');
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

export function completionsCommand(program: Command, cli: Cli): void {
  program
    .command('completions')
    .description('print completions for a shell, to be sourced')
    .addArgument(new Argument('<shell>', SHELLS.join(', ')).choices(SHELLS))
    .action((shell: Shell) => cli.print(completionScript(shell, program)));
}
