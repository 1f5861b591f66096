// The model of the bench, in a process of its own as a real one would be: asks for one tool a turn, `turns` times, then answers.
// It speaks at once: what is measured is the loop. Arguments: tool name, input as JSON, turns. Prints its URL.
import { reply, startScriptedModel, text, toolUse, type ParsedRequest } from '../worker/scripted-model/index.ts';

const [tool = '', input = '{}', turns = '1'] = process.argv.slice(2);
const asked = ({ messages }: ParsedRequest): number => messages.filter(({ role }) => role === 'assistant').length;

const server = await startScriptedModel({
  keep: 'none',
  script: (request) =>
    asked(request) < Number(turns) ? reply([text('Next.'), toolUse(tool, JSON.parse(input))]) : reply('Done.'),
});
process.stdout.write(`${server.url}\n`);
process.stdin.resume().once('end', () => process.exit(0));
