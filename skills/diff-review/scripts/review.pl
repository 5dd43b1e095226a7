#!/usr/bin/env perl
# Maps a unified diff and looks for known risks in its new lines. Needs nothing but perl-base.
use strict;
use warnings;
use utf8;
use Getopt::Long qw(GetOptionsFromArray :config no_ignore_case);
use List::Util qw(max sum0);

my $USAGE = <<'END';
usage: review.pl summary DIFF [--all]
       review.pl lines DIFF FILE

summary prints the files of a unified diff and findings as file:line. --all shows every finding of a kind.
lines prints the new side of one file's hunks with line numbers; + marks what was added.
DIFF is a patch file; - reads standard input, as in: git diff main...HEAD | review.pl summary -
END

my $SOURCE = qr/\.(?:[cm]?[jt]sx?|py|go|rs|java|kt|rb|php|cs|c|cc|cpp|h|hpp|swift|scala|ex|exs|lua|pl|pm|sh|vue|svelte)$/;
my $TEST   = qr{(?:^|/)(?:tests?|spec|__tests__|e2e)/|[._-](?:test|spec)\.|(?:^|/)test_|_test\.(?:go|py|rb|exs?)$|Tests?\.(?:java|kt|cs)$};
my $PROSE  = qr/\.(?:md|markdown|txt|rst|adoc)$/;
my $GENERATED = qr{(?:^|/)(?:package-lock\.json|yarn\.lock|pnpm-lock\.yaml|Cargo\.lock|go\.sum|poetry\.lock|uv\.lock|Gemfile\.lock|composer\.lock)$|\.min\.(?:js|css)$|\.snap$|(?:^|/)(?:dist|vendor|node_modules)/};

# Severity, pattern, message. `in`: only there; `not`: not there. `secret`: the match is never printed.
my @RULES = (
    { level => 'must', secret => 1, text => 'a private key', match => qr/-----BEGIN [A-Z ]*PRIVATE KEY-----/ },
    { level => 'must', secret => 1, text => 'what looks like an access token', match => qr/\b(?:AKIA[0-9A-Z]{16}|xox[abeprs]-[0-9A-Za-z-]{10,}|xapp-[0-9A-Za-z-]{10,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,}|glpat-[\w-]{20,}|sk-(?:ant-|proj-)?[A-Za-z0-9_-]{24,}|AIza[\w-]{35}|npm_[A-Za-z0-9]{36})/ },
    { level => 'must', secret => 1, text => 'a literal password or key', not => $TEST,
      match => qr/(?:passw(?:or)?d|secret|token|api_?key|private_?key)["']?\s*(?:[:=]|=>)\s*["'](?!\$|\{|<|%|env|process|\*)[^"'\s]{8,}["']/i },
    { level => 'must', text => 'a conflict mark', match => qr/^(?:<{7}|>{7}|\|{7})(?: |$)/ },
    { level => 'must', text => 'a focused test hides the others', in => $TEST, match => qr/\b(?:describe|it|test|context)\.only\s*\(|\bf(?:describe|it)\s*\(/ },
    { level => 'must', text => 'certificate checks are switched off', match => qr/rejectUnauthorized\s*:\s*false|verify\s*=\s*False|InsecureSkipVerify\s*:\s*true|NODE_TLS_REJECT_UNAUTHORIZED|ssl_verify\s*=>?\s*(?:false|0)|CURLOPT_SSL_VERIFYPEER\s*,\s*(?:false|0)|\bcurl\b.*\s(?:-k|--insecure)\b/ },
    { level => 'should', text => 'SQL built from text', match => qr/["'`]\s*(?:SELECT|INSERT INTO|UPDATE|DELETE FROM)\b[^"'`]*["'`]\s*(?:\+|%|\.)\s*\w|f["']\s*(?:SELECT|INSERT INTO|UPDATE|DELETE FROM)\b[^"']*\{|`\s*(?:SELECT|INSERT INTO|UPDATE|DELETE FROM)\b[^`]*\$\{/i },
    { level => 'should', text => 'text run as code or through a shell', in => $SOURCE, match => qr/(?<![\w.])eval\s*\(|new Function\s*\(|shell\s*=\s*True|os\.system\s*\(|child_process.*\bexec(?:Sync)?\s*\(\s*`|\bexec(?:Sync)?\s*\(\s*`[^`]*\$\{|pickle\.loads?\s*\(|yaml\.load\s*\((?!.*Safe)/ },
    { level => 'should', text => 'HTML from text', match => qr/\.innerHTML\s*=(?!=)|dangerouslySetInnerHTML|\bv-html=|document\.write\s*\(|\|\s*safe\b|html_safe/ },
    { level => 'should', text => 'an error is swallowed', in => $SOURCE, match => qr/catch\s*(?:\([^)]*\))?\s*\{\s*\}|\.catch\(\s*\(\s*\w*\s*\)\s*=>\s*\{\s*\}\s*\)|except(?:\s+\w+)?\s*:\s*(?:pass)?\s*$|rescue\s*(?:=>\s*\w+)?\s*;?\s*nil/ },
    { level => 'should', text => 'a test is skipped', in => $TEST, match => qr/\b(?:describe|it|test|context)\.(?:skip|todo)\b|\bx(?:describe|it)\s*\(|\@(?:Ignore|Disabled)\b|pytest\.mark\.(?:skip|xfail)|\bt\.Skip\(/ },
    { level => 'should', text => 'a check is switched off', match => qr/\@ts-(?:ignore|nocheck|expect-error)|eslint-disable|oxlint-disable|biome-ignore|#\s*type:\s*ignore|#\s*noqa|\@SuppressWarnings|#\s*rubocop:disable|\/\/\s*nolint|#!?\[allow\(/ },
    { level => 'should', text => 'open permissions', match => qr/chmod\s+(?:-R\s+)?(?:0?777|a\+rwx)|0o?777\b|Access-Control-Allow-Origin["']?\s*[,:]\s*["']\*/ },
    { level => 'should', text => 'a debugger statement', in => $SOURCE, match => qr/^\s*debugger;?\s*$|\bbinding\.pry\b|\bbreakpoint\(\)|\bpdb\.set_trace\(|\bdd\(|\bvar_dump\(/ },
    { level => 'could', text => 'debug output', in => $SOURCE, not => $TEST, match => qr/\bconsole\.(?:log|debug|trace)\(|^\s*print\(|^\s*fmt\.Print(?:ln|f)?\(|\bdbg!\(|System\.out\.print/ },
    { level => 'could', text => 'an open end', match => qr/\b(?:TODO|FIXME|XXX|HACK)\b/, not => $PROSE },
    { level => 'could', text => 'a test waits for time', in => $TEST, match => qr/\bsleep\(|\bsetTimeout\(|time\.Sleep\(|Thread\.sleep\(|waitForTimeout\(/ },
    { level => 'could', text => 'a commented-out line of code', in => $SOURCE, match => qr~^\s*(?://|#)\s*(?:const|let|var|return|if\s*\(|for\s*\(|import|await|def|func)\b.*[;:{(]\s*$~ },
);
my %ORDER = (must => 0, should => 1, could => 2);

binmode STDOUT, ':utf8';
binmode STDERR, ':utf8';
my $command = shift @ARGV // '';
if ($command =~ /^(?:-h|--help|help)$/) { print $USAGE; exit 0 }
my %option;
{
    local $SIG{__WARN__} = sub { my $text = lcfirst shift; chomp $text; usage($text) };
    GetOptionsFromArray(\@ARGV, \%option, 'help', 'all');
}
if ($option{help}) { print $USAGE; exit 0 }
if    ($command eq 'summary') { usage('summary takes one diff') if @ARGV != 1; summary(read_diff($ARGV[0])) }
elsif ($command eq 'lines')   { usage('lines takes a diff and a file') if @ARGV != 2; show_lines($ARGV[1], read_diff($ARGV[0])) }
else                          { usage("unknown command '$command'") }

# --- reading ---

# A file is a hash: path, from, status, note, added, removed, and lines [number, sign, text] of its new side.
sub read_diff {
    my $path = shift;
    my $handle = \*STDIN;
    if ($path ne '-') {
        fail("$path is a folder") if -d $path;
        open $handle, '<', $path or fail("cannot read $path: $!");
    }
    binmode $handle;
    my (@files, $file, $number, $old_left, $new_left);
    ($old_left, $new_left) = (0, 0);
    while (defined(my $line = readline $handle)) {
        utf8::decode($line);
        $line =~ s/\r?\n\z//;
        if ($file && ($old_left > 0 || $new_left > 0)) {
            my $sign = substr $line, 0, 1;
            my $text = length $line ? substr $line, 1 : '';
            if ($sign eq '+') { $file->{added}++; $new_left--; push @{ $file->{lines} }, [$number++, '+', $text] }
            elsif ($sign eq '-') { $file->{removed}++; $old_left-- }
            elsif ($sign eq '\\') { }
            else { $old_left--; $new_left--; push @{ $file->{lines} }, [$number++, ' ', $text] }
            next;
        }
        if ($line =~ /^diff --git "?a\/(.+?)"? "?b\/(.+?)"?$/) { push @files, $file = new_file($2, $1); $file->{git} = 1 }
        elsif ($line =~ /^--- (?:"?a\/)?(.+?)"?(?:\t.*)?$/) {
            # Without a git header a file begins here.
            push @files, $file = new_file($1, $1) if !$file || !$file->{git} || $file->{plus};
            $file->{status} = 'added' if $1 eq '/dev/null';
        }
        elsif ($line =~ /^\+\+\+ (?:"?b\/)?(.+?)"?(?:\t.*)?$/ && $file) {
            $file->{plus} = 1;
            if ($1 eq '/dev/null') { $file->{status} = 'deleted' } else { $file->{path} = $1 }
        }
        elsif ($line =~ /^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/ && $file) {
            ($old_left, $number, $new_left) = ($1 // 1, $2, $3 // 1);
            push @{ $file->{lines} }, undef if @{ $file->{lines} };
        }
        elsif (!$file) { next }
        elsif ($line =~ /^new file mode (\d+)/)   { $file->{status} = 'added'; $file->{executable} = 1 if $1 eq '100755' }
        elsif ($line =~ /^deleted file mode/)     { $file->{status} = 'deleted' }
        elsif ($line =~ /^rename from (.+)/)      { $file->{status} = 'renamed'; $file->{from} = $1 }
        elsif ($line =~ /^new mode (\d+)/)        { $file->{executable} = 1 if $1 eq '100755' }
        elsif ($line =~ /^(?:Binary files|GIT binary patch)/) { $file->{note} = 'binary' }
    }
    fail($path eq '-' ? 'standard input holds no unified diff' : "$path holds no unified diff; make one with: git diff main...HEAD > $path") if !@files;
    return @files;
}

sub new_file {
    my ($path, $from) = @_;
    return { path => $path, from => $from, status => 'changed', note => '', added => 0, removed => 0, lines => [] };
}

# --- commands ---

sub summary {
    my @files = @_;
    printf "%s, +%d -%d\n\n", amount(scalar @files, 'file'), sum0(map { $_->{added} } @files), sum0(map { $_->{removed} } @files);
    my $width = max(map { length $_->{path} } @files);
    $width = 70 if $width > 70;
    for my $file (sort { $b->{added} + $b->{removed} <=> $a->{added} + $a->{removed} || $a->{path} cmp $b->{path} } @files) {
        my @notes = grep { $_ } $file->{status} eq 'changed' ? '' : $file->{status} eq 'renamed' ? "renamed from $file->{from}" : $file->{status},
            $file->{note}, $file->{path} =~ $TEST ? 'test' : '', $file->{path} =~ $GENERATED ? 'generated' : '',
            $file->{executable} ? 'executable' : '';
        my $line = sprintf "  %-*s  %5s %5s  %s", $width, $file->{path}, "+$file->{added}", "-$file->{removed}", join(', ', @notes);
        print $line =~ s/\s+\z//r, "\n";
    }
    my @findings = sort { $ORDER{ $a->{level} } <=> $ORDER{ $b->{level} } } ((map { findings_in($_) } @files), missing(@files));
    print "\nfindings (patterns, read each place)\n";
    print "  none\n" if !@findings;
    my %shown;
    for my $finding (@findings) {
        my $kind = "$finding->{level} $finding->{text}";
        next if ++$shown{$kind} > 5 && !$option{all};
        print "  $finding->{level}  ", join('  ', grep { defined } $finding->{place}, $finding->{text}), $finding->{quote} ? ": $finding->{quote}" : '', "\n";
    }
    for my $kind (sort grep { $shown{$_} > 5 } keys %shown) {
        print "  ", $shown{$kind} - 5, " more of: $kind (--all)\n" if !$option{all};
    }
}

sub show_lines {
    my ($wanted, @files) = @_;
    my ($file) = grep { $_->{path} eq $wanted } @files;
    fail("the diff does not touch $wanted; it touches: " . join(', ', map { $_->{path} } @files)) if !$file;
    fail("$wanted has no text in the diff ($file->{status}" . ($file->{note} ? ", $file->{note}" : '') . ')') if !@{ $file->{lines} };
    for my $line (@{ $file->{lines} }) {
        if (!$line) { print "   ...\n"; next }
        printf "%6d %s %s\n", @$line;
    }
}

# --- findings ---

sub findings_in {
    my $file = shift;
    my $path = $file->{path};
    return if $path =~ $GENERATED;
    my @findings;
    for my $line (grep { $_ && $_->[1] eq '+' } @{ $file->{lines} }) {
        my ($number, undef, $text) = @$line;
        for my $rule (@RULES) {
            next if $rule->{in} && $path !~ $rule->{in} || $rule->{not} && $path =~ $rule->{not} || $text !~ $rule->{match};
            my $quote = $rule->{secret} ? '' : substr($text =~ s/^\s+//r, 0, 100);
            push @findings, { level => $rule->{level}, text => $rule->{text}, place => "$path:$number", quote => $quote };
            last if $rule->{secret};
        }
    }
    push @findings, { level => 'could', place => $path, text => 'a large new file; could it be split or generated?' }
        if $file->{status} eq 'added' && $file->{added} > 800 && $path =~ $SOURCE;
    push @findings, { level => 'should', place => $path, text => 'a test file is deleted' } if $file->{status} eq 'deleted' && $path =~ $TEST;
    push @findings, { level => 'could', place => $path, text => 'a binary file; is it needed in the repository?' } if $file->{note} eq 'binary' && $file->{status} eq 'added';
    push @findings, { level => 'should', place => $path, text => 'a migration: check locks, defaults for old rows, and the way back' } if $path =~ m{(?:^|/)migrat\w*/};
    push @findings, { level => 'should', place => $path, text => 'the build or deploy pipeline changes: check permissions and secrets' }
        if $path =~ m{^\.github/workflows/|^\.gitlab-ci|(?:^|/)Jenkinsfile$|(?:^|/)Dockerfile};
    return @findings;
}

# What one would expect beside the changes.
sub missing {
    my @paths = map { $_->{path} } grep { $_->{status} ne 'deleted' } @_;
    my $touched = sum0(map { $_->{added} } grep { $_->{path} =~ $SOURCE && $_->{path} !~ $TEST } @_);
    my @findings;
    push @findings, { level => 'should', text => "$touched new lines of source and no change in a test" }
        if $touched > 10 && !grep { $_ =~ $TEST } @paths;
    my %locks = (
        'package.json' => [qw(package-lock.json yarn.lock pnpm-lock.yaml bun.lock)], 'Cargo.toml' => ['Cargo.lock'], 'go.mod' => ['go.sum'],
        'Gemfile' => ['Gemfile.lock'], 'composer.json' => ['composer.lock'], 'pyproject.toml' => [qw(poetry.lock uv.lock pdm.lock)],
    );
    for my $manifest (sort keys %locks) {
        my ($changed) = grep { $_->{path} =~ m{(?:^|/)\Q$manifest\E$} } @_;
        my $locked = grep { my $lock = $_; grep { m{(?:^|/)\Q$lock\E$} } @paths } @{ $locks{$manifest} };
        if ($changed && !$locked && grep { $_ && $_->[1] eq '+' && $_->[2] =~ /["'=]\s*[\^~>=v]*\d+\.\d/ } @{ $changed->{lines} }) {
            push @findings, { level => 'should', place => $changed->{path}, text => 'versions change, and no lock file does' };
        }
        push @findings, { level => 'should', text => "a lock file changes, and no $manifest does" } if $locked && !$changed;
    }
    return @findings;
}

sub amount { my ($count, $noun) = @_; return "$count $noun" . ($count == 1 ? '' : 's') }

sub usage { print STDERR "review.pl: $_[0]; see review.pl --help\n"; exit 2 }

sub fail { print STDERR "review.pl: $_[0]\n"; exit 1 }
