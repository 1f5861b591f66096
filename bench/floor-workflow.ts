// The engine's floor: what a turn costs when it is two activities that do nothing.
import { proxyActivities } from '@temporalio/workflow';

const { nothing } = proxyActivities<{ nothing(): Promise<void> }>({ startToCloseTimeout: '1 minute' });

export async function floor(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    await nothing();
    await nothing();
  }
}
