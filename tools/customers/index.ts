import { serveTools } from 'edgecall/tool'
import { customerCard, getCustomer } from './tools.ts'

export default serveTools(getCustomer, customerCard)
