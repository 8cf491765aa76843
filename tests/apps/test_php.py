"""PHP opens its extensions with RTLD_DEEPBIND, and blocks pass between them and PHP."""

import json
import subprocess

from host import require

SCRIPT = """
$db = preg_replace_callback('/[0-9]+/', fn($m) => $m[0] * 2, implode(' ', range(1, 50000)));
$tokens = array_filter(token_get_all('<?php ' . str_repeat('f($x[1], "y"); ', 20000)), 'is_array');
echo json_encode([get_loaded_extensions(), md5($db), count($tokens), ctype_digit('12'), iconv('UTF-8', 'UTF-16LE', 'a'),
    (new DateTime('2024-02-29 UTC'))->modify('+1 year')->format('c')]), "\\n";
fgets(STDIN);
"""


def test_answers_are_those_of_the_plain_program(host):
    command = [require("php", "php-cli"), "-r", SCRIPT]
    plain = subprocess.run(command, env=host.plain_env(), input=b"\n", capture_output=True, check=True).stdout
    with subprocess.Popen(command, env=host.env, stdin=-1, stdout=-1, stderr=-1) as php:
        said = php.stdout.readline()
        host.assert_on_hz3(php.pid)
        _, errors = php.communicate(b"\n")
    assert (php.returncode, said, errors) == (0, plain, b"")
    assert "tokenizer" in json.loads(said)[0]
