import { serveTools } from '../../src/tool.ts'
import { customerCard, getCustomer } from './tools.ts'

export default serveTools(getCustomer, customerCard)
