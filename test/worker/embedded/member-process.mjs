// Joins the server of PERDURE_DATA, says so in one line of JSON, and leaves when its input ends.
import { openDataFolder } from '../../../dist/connection/data-folder.js';
import { findBinary } from '../../../dist/worker/embedded/find-binary.js';
import { joinServer } from '../../../dist/worker/embedded/join-server.js';

const { env } = process;
const say = () => undefined;
const binary = (wanted) => findBinary({ env, wanted, say });
const role = process.argv[2];
const joined = await joinServer({ folder: openDataFolder(env), role, worker: role !== 'command', env, say, binary });
console.log(JSON.stringify({ address: joined.address, startedHere: joined.startedHere }));
process.stdin.resume().once('end', () => void joined.leave());
