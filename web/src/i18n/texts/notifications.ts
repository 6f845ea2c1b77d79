/** Texts about subscriptions to notifications, loaded with their pages: [English, Chinese]. */
import type { Pair } from "..";

export const notifications = {
  "kind.webhook": ["Webhook", "Webhook"],
  "kind.smtp": ["Mail", "邮件"],
  channel: ["Channel", "渠道"],
  address: ["Address", "地址"],
  "address.help": ["Where the channel delivers.", "渠道送达的位置。"],
  "address.smtp": ["Mail address", "邮箱地址"],
  "address.smtp.help": ["For example ann@example.org.", "如 ann@example.org。"],
  "address.ntfy": ["Topic", "主题"],
  "address.ntfy.help": [
    "Anyone who knows the topic can read it: choose a long random name.",
    "知道主题的人都能读取，请使用较长的随机名称。",
  ],
  "address.mattermost": ["Channel or @user", "频道或 @用户"],
  "address.mattermost.help": [
    "Leave empty for the channel of the webhook.",
    "留空则使用 Webhook 的频道。",
  ],
  "address.slack": ["Channel or member ID", "频道或成员 ID"],
  "address.slack.help": [
    "Starts with C, G or D for a channel, and with U or W for a person, who receives a direct message.",
    "频道以 C、G 或 D 开头；成员以 U 或 W 开头，将收到私信。",
  ],
  "address.telegram": ["Chat ID", "聊天 ID"],
  "address.telegram.help": [
    "A number. For a private chat, it is the ID of your linked account.",
    "一个数字。私聊时为您已关联账号的 ID。",
  ],
  "address.channel": ["Address of the channel", "渠道自身的地址"],
  label: ["Label", "标签"],
  "label.help": [
    "Tells your subscriptions apart, for example My phone.",
    "用于区分订阅，如“我的手机”。",
  ],
  added: ["Added", "添加时间"],
  inactive: ["Inactive", "已失效"],
  "inactive.why": [
    "The channel is disabled, or the token that made the subscription has ended.",
    "渠道已停用，或创建订阅的令牌已失效。",
  ],
  "own.title": ["Notifications through other channels", "其他渠道的通知"],
  "own.lead": [
    "Your requests also reach you by mail or chat, through channels that administrators have set up.",
    "您的请求也可通过管理员设置的邮件或聊天渠道送达。",
  ],
  "own.add": ["Subscribe", "订阅"],
  "own.none": ["No subscriptions yet.", "还没有订阅。"],
  "own.no_channels": [
    "No such channel exists yet. An administrator can add one.",
    "尚无此类渠道，可由管理员添加。",
  ],
  "own.remove": ["Unsubscribe", "取消订阅"],
  "own.remove.which": ["Unsubscribe {name}", "取消订阅 {name}"],
  "own.removed": ["Unsubscribed", "已取消订阅"],
} as const satisfies Record<string, Pair>;
