// Talking to the server. What costs is sent with a key, so that it can be repeated when the server restarts in between:
// it is never done or paid for twice.

const notice = () => document.getElementById('notice');
let csrf = null;

export class Refusal extends Error {
  constructor(status, kind, message) {
    super(message);
    this.status = status;
    this.kind = kind;
  }
}

export const key = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

function away(isAway) {
  notice().replaceChildren();
  if (!isAway) return;
  const line = document.createElement('p');
  line.textContent = 'The server does not answer. Trying again …';
  notice().append(line);
}

async function once(method, path, body, headers) {
  const response = await fetch(`/v1/${path}`, {
    method,
    credentials: 'same-origin',
    headers: { ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...(csrf ? { 'X-Equipoise-CSRF': csrf } : {}), ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  if (response.ok) return text ? JSON.parse(text) : null;
  let told = {};
  try { told = JSON.parse(text).error; } catch { /* not ours: a proxy's page */ }
  const signedOut = response.status === 401 && path !== 'session';
  const message = signedOut ? 'You are no longer signed in. Reload this page to sign in again.' : told.message;
  throw new Refusal(response.status, told.kind || 'HTTP', message || `the server answered ${response.status}`);
}

async function call(method, path, body, { idempotency } = {}) {
  const repeatable = method === 'GET' || method === 'PUT' || idempotency;
  const headers = idempotency ? { 'Idempotency-Key': idempotency } : {};
  for (let wait = 200, tries = 0; ; wait = Math.min(2 * wait, 3000), tries += 1) {
    try {
      const found = await once(method, path, body, headers);
      if (tries) away(false);
      return found;
    } catch (error) {
      const isAway = !(error instanceof Refusal) || error.status === 503 || error.status === 429;
      if (!isAway || !repeatable || tries > 40) {
        if (tries) away(false);
        if (error instanceof Refusal) throw error;
        throw new Refusal(0, 'Network', 'The server does not answer. Try again in a moment.');
      }
      away(true);
      await pause(wait);
    }
  }
}

export const get = (path) => call('GET', path);
export const post = (path, body, options) => call('POST', path, body, options);
export const put = (path, body) => call('PUT', path, body);

export async function me() {
  const found = await call('GET', 'session');
  csrf = found.csrf;
  return found;
}

export async function signIn(token) {
  const found = await call('POST', 'session', { token });
  csrf = found.csrf;
  return found;
}

export async function signOut() {
  await call('DELETE', 'session');
  csrf = null;
}
