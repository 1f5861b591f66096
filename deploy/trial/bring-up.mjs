// Starts the services of a compose file in the order of their conditions, holds them to their
// health checks, and starts again what ends, as the file says.
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { addressOf, makeBridge, openContainer } from './container.mjs';
import { programOf } from './programs.mjs';

export class Installation {
  #services;
  #folder;
  #here;
  #say;
  #containers = new Map();
  #states = new Map();
  #stopped = new Set();

  constructor({ services }, { folder, here, say }) {
    this.#services = services;
    this.#folder = folder;
    this.#here = here;
    this.#say = say;
  }

  async up() {
    makeBridge();
    const hosts = this.#services.map(({ name }, place) => `${addressOf(place)} ${name}\n`);
    writeFileSync(join(this.#folder, 'hosts'), `127.0.0.1 localhost\n${hosts.join('')}`);
    await Promise.all(this.#services.map((service, place) => this.#bringUp(service, place)));
  }

  addressOf(name) {
    return addressOf(this.#services.findIndex((service) => service.name === name));
  }

  volume(name) {
    return join(this.#folder, 'volumes', name);
  }

  container(name) {
    const found = this.#containers.get(name);
    if (found === undefined) throw new Error(`no service ${name}`);
    return found;
  }

  /** The last lines of what it printed. */
  logOf(name) {
    return readFileSync(this.container(name).log, 'utf8').split('\n').slice(-25).join('\n');
  }

  /** As `docker compose restart`: stopped within its time, then started. @returns the status it stopped with */
  async restart(name) {
    const service = this.#services.find((one) => one.name === name);
    this.#stopped.add(name);
    const status = await this.container(name).stop(service.stopMs);
    this.#stopped.delete(name);
    this.#start(service);
    await this.waitHealthy(name);
    return status;
  }

  async waitHealthy(name) {
    const { health } = this.#services.find((one) => one.name === name);
    if (health !== null) await this.#waitHealthy(name, health);
  }

  async down() {
    for (const { name } of this.#services) this.#stopped.add(name);
    const running = this.#services.filter(({ name }) => this.#containers.has(name));
    await Promise.allSettled(running.map(({ name, stopMs }) => this.container(name).stop(stopMs)));
  }

  #bringUp(service, place) {
    const state = this.#stateOf(service.name);
    const instance = this.#make(service, place).then(state.resolve, state.reject);
    return Promise.all([instance, state.promise]);
  }

  async #make(service, place) {
    for (const [name, { condition }] of Object.entries(service.needs)) {
      await this.#stateOf(name).promise;
      this.#checkCondition(service, name, condition);
    }
    const program = programOf(service, this.#here);
    if (program === null) return this.#say(`${service.name}: left out, this machine has no such program`);
    const mounts = [...program.mounts, ...service.mounts.map((mount) => this.#mountOf(mount, program.user))];
    const hosts = join(this.#folder, 'hosts');
    const env = { ...program.env, ...service.env };
    const { name, capAdd } = service;
    // An image that is not ours runs with the capabilities that an engine gives by default.
    const caps = service.isBuilt ? capAdd : ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETUID', 'SETGID', 'KILL'];
    const wanted = { ...program, name, place, folder: this.#folder, hosts, env, capAdd: caps, mounts };
    this.#containers.set(name, openContainer(wanted));
    this.#start(service);
    await this.#waitUntilUp(service);
    this.#say(`${name}: up${program.notice === undefined ? '' : ` (${program.notice})`}`);
  }

  #checkCondition({ name }, other, condition) {
    const { health } = this.#services.find((one) => one.name === other);
    if (condition === 'service_healthy' && health === null)
      throw new Error(`${name} waits for ${other} to be healthy, which has no health check`);
  }

  #mountOf({ from, to, isVolume, isReadOnly }, user) {
    if (!isVolume) return { from, to, isReadOnly };
    const folder = this.volume(from);
    mkdirSync(folder, { recursive: true });
    this.#own(folder, user, isReadOnly);
    return { from: folder, to, isReadOnly };
  }

  /** An engine gives a new volume the owner and the mode that its folder has in the image. */
  #own(folder, user, isReadOnly) {
    const [uid, gid = uid] = user.split(':').map(Number);
    if (uid === 0 || isReadOnly) return;
    chownSync(folder, uid, gid);
    chmodSync(folder, 0o700);
  }

  #start(service) {
    const container = this.container(service.name);
    container.start();
    if (service.restart !== 'unless-stopped') return;
    void container.ended.then(async () => {
      await sleep(500);
      if (!this.#stopped.has(service.name) && !container.isRunning()) this.#start(service);
    });
  }

  async #waitUntilUp(service) {
    if (service.health !== null) return this.#waitHealthy(service.name, service.health);
    if (service.restart !== 'no') return undefined;
    const status = await this.container(service.name).ended;
    if (status !== 0) throw new Error(`${service.name} ended with ${status}:\n${this.logOf(service.name)}`);
    return undefined;
  }

  async #waitHealthy(name, { test, intervalMs, timeoutMs, startMs, retries }) {
    const until = Date.now() + startMs + retries * intervalMs;
    for (;;) {
      const { status, out } = await this.#check(name, test, timeoutMs);
      if (status === 0) return;
      if (Date.now() > until) throw new Error(`${name} is not healthy (${out.trim()}):\n${this.logOf(name)}`);
      await sleep(Math.min(intervalMs, 500));
    }
  }

  async #check(name, test, timeoutMs) {
    try {
      return await this.container(name).exec(test, timeoutMs);
    } catch (error) {
      return { status: 1, out: error.message };
    }
  }

  #stateOf(name) {
    const known = this.#states.get(name);
    if (known !== undefined) return known;
    const state = withResolvers();
    state.promise.catch(() => undefined);
    this.#states.set(name, state);
    return state;
  }
}

function withResolvers() {
  let resolve;
  let reject;
  const promise = new Promise((...both) => ([resolve, reject] = both));
  return { promise, resolve, reject };
}
