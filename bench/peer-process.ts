// One task by the peer of `bench -- peers`, in a process of its own. Arguments: the peer's folder
// of packages, the workspace, and the turns. Its environment names the model.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

type PeerMessage = { readonly type: string; readonly subtype?: string };
type Peer = {
  query(request: { readonly prompt: string; readonly options: object }): AsyncIterable<PeerMessage>;
};

const [packages = '', cwd = '', turns = ''] = process.argv.slice(2);
const { resolve } = createRequire(pathToFileURL(`${packages}/`));
const { query } = (await import(pathToFileURL(resolve('@anthropic-ai/claude-agent-sdk')).href)) as Peer;
const options = {
  cwd,
  maxTurns: Number(turns) + 2,
  permissionMode: 'bypassPermissions',
  allowDangerouslySkipPermissions: true,
  settingSources: [],
};
let result: PeerMessage | undefined;
for await (const message of query({ prompt: 'Begin.', options })) if (message.type === 'result') result = message;
if (result?.subtype !== 'success') throw new Error(`the peer ended with ${JSON.stringify(result)}`);
process.exit(0);
