import { Failure } from './failure.ts'

/** The variables that name a proxy. A name in lower case comes first, as in curl. */
const VARIABLES = ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY']

/** Servers on this machine, which no proxy reaches. */
const HERE = ['localhost', '127.0.0.1', '[::1]']

/**
 * Sends the requests of this process through the proxy that the environment names, but those to hosts of `NO_PROXY` and to
 * this machine. Without such a variable nothing changes. Throws a Failure for a proxy that is not a URL.
 */
export async function useProxy(env: NodeJS.ProcessEnv): Promise<void> {
  if (!VARIABLES.some((name) => env[name])) return
  const { EnvHttpProxyAgent, setGlobalDispatcher } = await import('undici')
  const exempt = env['no_proxy'] ?? env['NO_PROXY'] ?? ''
  try {
    setGlobalDispatcher(new EnvHttpProxyAgent({ noProxy: exempt === '*' ? exempt : [exempt, ...HERE].join(',') }))
  } catch {
    const names = VARIABLES.filter((name) => env[name])
    throw new Failure(`${names.join(' and ')} must be a URL, such as http://proxy.example:3128.`)
  }
}
