// The command line as a process, without looking whether its build is fresh: `npm test` builds
// first.
import { main } from '../../dist/cli/main.js';

const status = await main(process.argv.slice(2), process);
process.stdout.write('', () => process.exit(status));
