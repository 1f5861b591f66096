import { describe, it } from 'vitest';
import { killedInModelCall } from '../support/killed-scenario.ts';
import { scenarios } from '../support/scenarios.ts';

describe('a worker killed in the middle of a model call', () => {
  it.each(scenarios.filter((_, n) => n % 2 === 0).map((scenario) => [scenario.name, scenario] as const))(
    '%s',
    (_name, scenario) => killedInModelCall(scenario),
  );
});
