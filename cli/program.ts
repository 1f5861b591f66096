// The commands of `perdure`.
import { Command } from 'commander';
import { VERSION } from '../worker/version.ts';
import type { Cli } from './cli.ts';
import { answerCommand } from './commands/answer.ts';
import { approvalsCommand } from './commands/approvals.ts';
import { approveCommand } from './commands/approve.ts';
import { btwCommand } from './commands/btw.ts';
import { chatCommand } from './commands/chat.ts';
import { denyCommand } from './commands/deny.ts';
import { logsCommand } from './commands/logs.ts';
import { memoryCommand } from './commands/memory.ts';
import { mcpToolsCommand } from './commands/mcp-tools.ts';
import { pageCommand } from './commands/page.ts';
import { repairCommand } from './commands/repair.ts';
import { rewindCommand } from './commands/rewind.ts';
import { resumeCommand } from './commands/resume.ts';
import { skillsCommand } from './commands/skills.ts';
import { snipCommand } from './commands/snip.ts';
import { topUpCommand } from './commands/top-up.ts';
import { cancelCommand } from './commands/cancel.ts';
import { applyCommand } from './commands/apply.ts';
import { devCommand } from './commands/dev.ts';
import { completionsCommand } from './commands/completions.ts';
import { diffCommand } from './commands/diff.ts';
import { doctorCommand } from './commands/doctor.ts';
import { exportCommand } from './commands/export.ts';
import { gcCommand } from './commands/gc.ts';
import { importCommand } from './commands/import.ts';
import { interruptCommand } from './commands/interrupt.ts';
import { listCommand } from './commands/list.ts';
import { runCommand } from './commands/run.ts';
import { scheduleCommand } from './commands/schedule.ts';
import { scriptedModelCommand } from './commands/scripted-model.ts';
import { sendCommand } from './commands/send.ts';
import { serveCommand } from './commands/serve.ts';
import { setupCommand } from './commands/setup.ts';
import { showCommand } from './commands/show.ts';
import { startCommand } from './commands/start.ts';
import { startHereCommand } from './commands/start-here.ts';
import { topCommand } from './commands/top.ts';
import { watchCommand } from './commands/watch.ts';
import { workerCommand } from './commands/worker.ts';
import { exampleHelp } from './help/examples.ts';

const commands = [
  chatCommand,
  devCommand,
  workerCommand,
  pageCommand,
  serveCommand,
  runCommand,
  startCommand,
  scheduleCommand,
  watchCommand,
  sendCommand,
  btwCommand,
  answerCommand,
  approvalsCommand,
  approveCommand,
  denyCommand,
  interruptCommand,
  cancelCommand,
  resumeCommand,
  snipCommand,
  topUpCommand,
  listCommand,
  topCommand,
  showCommand,
  diffCommand,
  applyCommand,
  skillsCommand,
  memoryCommand,
  mcpToolsCommand,
  logsCommand,
  repairCommand,
  rewindCommand,
  exportCommand,
  importCommand,
  gcCommand,
  doctorCommand,
  setupCommand,
  scriptedModelCommand,
  completionsCommand,
  startHereCommand,
];

/**
 * Builds the program. It throws CommanderError instead of ending the process, and prints help to
 * standard output only.
 */
export function createProgram(cli: Cli): Command {
  const root = new Command('perdure')
    .description('A durable agent: its work goes on after crashes, restarts and deploys.')
    .version(VERSION)
    .option('--verbose', 'say more, with stack traces');
  for (const add of commands) add(root, cli);
  for (const command of [root, ...root.commands.flatMap((each) => [each, ...each.commands])]) {
    command
      .exitOverride()
      .showSuggestionAfterError(true)
      .configureOutput({ writeOut: cli.print, writeErr: () => undefined });
    if (command === root) continue;
    command.option('--verbose', 'say more, with stack traces');
    const told = exampleHelp(command.name());
    if (told !== '') command.addHelpText('after', told);
  }
  return root;
}
