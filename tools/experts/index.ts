import { serveAgents } from 'edgecall/agent'
import { allProviders, type Env, makeSetup } from 'edgecall'
import { legal, medical, router, technical } from './agents.ts'

export default serveAgents(
  (env: Env) => makeSetup(env, { providers: allProviders }),
  [legal, medical, technical, router],
)
