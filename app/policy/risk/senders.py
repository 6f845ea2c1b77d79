"""Programs that send data to other hosts: one row each.

A new program is a new row, and needs no other code. `rules.uploads` asks where what a row sends
holds a secret.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from app.policy.risk.call import names


class Sender(NamedTuple):
    """Sending behavior of a program.

    Attributes:
        verbs: sending subcommands, as in `s3 cp`; if empty it always sends.
        stdin: whether it sends its input: "always", only with a word `-` or `@-` ("dash"), or
            "never".
        keys: options whose values are credentials, or stay on this machine.
        web: its operands are addresses, and its headers may be credentials.
        copies: the last operand is the destination; if local, nothing is sent.
        own_host: the user has an account on its host, so a project may be sent there.
        names_only: it sends the words themselves, not files.
        input_only: its words are commands for the other host.
        peers: anyone with the link receives the data.
        commands: its words contain commands that name files.
        needs: option required for sending.
    """

    verbs: tuple[str, ...] = ()
    stdin: Literal["always", "dash", "never"] = "dash"
    keys: str = ""
    web: bool = False
    copies: bool = False
    own_host: bool = False
    names_only: bool = False
    input_only: bool = False
    commands: bool = False
    peers: bool = False
    needs: tuple[str, ...] = ()


_CURL_KEYS = (
    "-u --user -b --cookie -c --cookie-jar -x --proxy -U "
    "--proxy-user -o "
    "--output -w --write-out -K --config --cacert --capath --cert -E --key --pass -m --max-time -D "
    "--dump-header --oauth2-bearer --aws-sigv4 --netrc-file --resolve --connect-to -X --request -D "
    "--output-dir --unix-socket --interface --ciphers --pinnedpubkey --trace --trace-ascii --stderr"
)
_WGET_KEYS = (
    "-O --output-document -o --output-file -a -P --directory-prefix --user --password --http-user "
    "--http-password --ca-certificate --certificate --private-key  --load-cookies "
    "--save-cookies -i --input-file --referer -e --execute"
)
_HTTPIE_KEYS = (
    "-a --auth -A --auth-type --session --session-read-only --cert --cert-key --cert-key-pass "
    "--verify "
    "--proxy -o --output -p --print -s --style --bearer -m --method"
)
_AWS_KEYS = (
    "--profile --region --endpoint-url --ca-bundle --query --output --cli-input-json --sse-c-key"
)
_SSH_KEYS = (
    "-i -F -o -S -J -P -p -l -c -e --rsh --password-file --exclude --exclude-from --files-from "
    "--filter --log-file"
)
_MAIL_KEYS = "-s -S -r -xu -xp -au -ap --auth-user --auth-password -c -b -f --from --to -t -q"

_HTTP = Sender(stdin="always", keys=_HTTPIE_KEYS, web=True)
_SOCKET = Sender(stdin="always")
_MAIL = Sender(stdin="always", keys=_MAIL_KEYS)
_PASTE = Sender(stdin="always", peers=True)
_NAMES = Sender(stdin="never", names_only=True)
_COPY = Sender(stdin="never", keys=_SSH_KEYS, copies=True, own_host=True)
_FTP = Sender(stdin="always", keys="-u -p --user --password", commands=True)

SENDERS: dict[str, Sender] = {
    **dict.fromkeys(("curl", "curlie"), Sender(keys=_CURL_KEYS, web=True)),
    **dict.fromkeys(("wget", "wget2"), Sender(keys=_WGET_KEYS, web=True)),
    **dict.fromkeys(names("http https httpie xh xhs"), _HTTP),
    **dict.fromkeys(
        names("lwp-request POST GET hurl oha ab hey vegeta bombardier"),
        Sender(stdin="always", keys="-H -A -o --cacert --cert --key", web=True),
    ),
    **dict.fromkeys(
        names("websocat wscat grpcurl evans"), Sender(stdin="always", keys="-H", web=True)
    ),
    **dict.fromkeys(
        names(
            "nc ncat netcat nc.openbsd nc.traditional cryptcat pwncat telnet socat socat2 dbclient"
        ),
        _SOCKET,
    ),
    "openssl": Sender(("s_client",), "always", "-cert -key -CAfile -CApath -pass -servername"),
    "ssh": Sender((), "always", _SSH_KEYS, input_only=True, own_host=True),
    **dict.fromkeys(names("scp rsync pscp sshpass-scp unison"), _COPY),
    **dict.fromkeys(
        names("sftp ftp lftp tnftp ncftp ncftpput curlftpfs tftp atftp smbclient cadaver"), _FTP
    ),
    "rclone": Sender(
        ("copy", "copyto", "sync", "move", "moveto", "rcat", "bisync"),
        "always",
        "--config --exclude --include --filter --log-file",
        copies=True,
    ),
    "aws": Sender(
        (
            "s3 cp",
            "s3 mv",
            "s3 sync",
            "s3api put-object",
            "s3api upload-part",
            "sns publish",
            "sqs send-message",
            "ses send-email",
            "ses send-raw-email",
            "sesv2 send-email",
            "lambda invoke",
            "logs put-log-events",
            "kinesis put-record",
            "events put-events",
            "dynamodb put-item",
            "firehose put-record",
            "glacier upload-archive",
        ),
        keys=_AWS_KEYS,
        copies=True,
    ),
    "gsutil": Sender(("cp", "mv", "rsync"), keys="-o -h", copies=True),
    "gcloud": Sender(
        (
            "storage cp",
            "storage mv",
            "storage rsync",
            "compute scp",
            "pubsub topics publish",
            "alpha storage cp",
        ),
        keys="--project --account --configuration --key-file --impersonate-service-account",
        copies=True,
    ),
    "az": Sender(
        (
            "storage blob upload",
            "storage blob upload-batch",
            "storage file upload",
            "storage file upload-batch",
            "storage blob sync",
            "storage fs file upload",
            "storage message put",
            "webapp deploy",
            "rest",
        ),
        keys="--account-key --connection-string --sas-token --auth-mode --subscription --headers",
    ),
    **dict.fromkeys(("azcopy",), Sender(("copy", "cp", "sync"), copies=True)),
    **dict.fromkeys(
        ("s3cmd", "s5cmd"),
        Sender(
            ("put", "sync", "cp", "mv", "pipe"),
            keys="-c --config --access_key --secret_key",
            copies=True,
        ),
    ),
    **dict.fromkeys(("mc", "mcli"), Sender(("cp", "mv", "mirror", "pipe", "put"), "always")),
    **dict.fromkeys(("b2", "b2v4"), Sender(("upload-file", "upload_file", "file upload", "sync"))),
    "oci": Sender(
        ("os object put", "os object bulk-upload", "os object sync"), keys="--config-file --profile"
    ),
    "swift": Sender(("upload",), keys="-A -U -K --os-password --os-username"),
    "ossutil": Sender(("cp", "sync"), copies=True),
    "gh": Sender(
        (
            "gist create",
            "gist edit",
            "issue create",
            "issue comment",
            "issue edit",
            "pr create",
            "pr comment",
            "pr review",
            "pr edit",
            "release create",
            "release upload",
            "api",
        ),
        keys="-H --header -R --repo --hostname --jq -q --template --cache",
    ),
    "glab": Sender(
        (
            "snippet create",
            "issue create",
            "issue note",
            "mr create",
            "mr note",
            "release create",
            "release upload",
            "api",
        ),
        keys="-H --header -R --repo",
    ),
    **dict.fromkeys(
        ("hub", "tea", "jira", "linear"),
        Sender(
            (
                "gist create",
                "issue create",
                "issue comment add",
                "issues create",
                "pr create",
                "release create",
            )
        ),
    ),
    **dict.fromkeys(
        names(
            "gist pastebinit wgetpaste ix sprunge termbin haste hastebin pastery dpaste transfer "
            "transfersh ffsend croc wormhole magic-wormhole fiche paste.rs ghostbin tb oshi "
            "bashupload "
            "0x0 imgur imgur-uploader curl-upload onionshare onionshare-cli portal sendme qrcp"
        ),
        _PASTE,
    ),
    "ipfs": Sender(("add", "block put", "pubsub pub", "files write"), "always"),
    **dict.fromkeys(
        names(
            "mail mailx s-nail mutt neomutt sendmail msmtp ssmtp swaks sendemail mpack "
            "git-send-email"
        ),
        _MAIL,
    ),
    **dict.fromkeys(
        names(
            "telegram-send slackcat slack slack-cli discord.sh matrix-commander sendxmpp "
            "go-sendxmpp "
            "ntfy apprise pushover gotify signal-cli twilio notify-telegram wacli teams-cli "
            "irssi-send"
        ),
        Sender(stdin="always", keys="--token -t --config -c --api-key"),
    ),
    "logger": Sender(stdin="always", needs=("-n", "--server")),
    **dict.fromkeys(
        names("mosquitto_pub mqttx"),
        Sender(keys="-u -P --cafile --cert --key -t -h", stdin="always"),
    ),
    **dict.fromkeys(
        names(
            "kcat kafkacat kafka-console-producer kafka-console-producer.sh nats amqp-publish "
            "rabbitmqadmin"
        ),
        Sender(stdin="always", keys="-X -F -t"),
    ),
    **dict.fromkeys(names("adb"), Sender(("push",), "never", own_host=True)),
    **dict.fromkeys(
        names("obexftp bluetooth-sendto kdeconnect-cli ussp-push"), Sender(stdin="never")
    ),
    **dict.fromkeys(
        names("mega-put megaput megacopy gdrive drive rmapi onedrive dbxcli dropbox_uploader.sh"),
        Sender(("upload", "put", "push", "sync", "files upload", "import"), "never"),
    ),
    **dict.fromkeys(names("megaput mega-put sendme airshare snowsql aerc"), Sender(commands=True)),
    "bq": Sender(("load",), "never"),
    "aria2c": Sender((), "never", "-o --out -d --dir -i --input-file", web=True),
    "tailscale": Sender(("file cp",), "always"),
    **dict.fromkeys(names("hdfs hadoop"), Sender(("dfs -put", "fs -put", "dfs -copyFromLocal"))),
    "openstack": Sender(("object create", "image create"), "never"),
    **dict.fromkeys(names("uucp uux"), Sender(stdin="never")),
    **dict.fromkeys(names("metasend mpack biabam"), _MAIL),
    **dict.fromkeys(names("webtorrent transmission-create mktorrent"), _PASTE),
    "mutagen": Sender(("sync create",), "never"),
    "kaggle": Sender(("datasets create", "datasets version", "kernels push"), "never"),
    "databricks": Sender(("fs cp", "workspace import", "workspace import_dir"), "never"),
    "keybase": Sender(("fs cp", "fs mv", "chat send", "chat upload"), "never"),
    "wrangler": Sender(("r2 object put", "kv key put", "kv bulk put"), "never"),
    **dict.fromkeys(names("kubectl oc"), Sender(("cp",), "never", copies=True, own_host=True)),
    **dict.fromkeys(
        names(
            "dig host nslookup drill kdig dog delv doggo q ping ping6 fping hping3 nping "
            "traceroute "
            "tracepath mtr whois getent resolvectl finger"
        ),
        _NAMES,
    ),
}
"""Sending programs, one row each."""
